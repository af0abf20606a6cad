/** `tracing.headers_file`: header fields for the collector, of which no message repeats any. */
import type { HeaderList } from '../../coalesce/request/head.ts';
import type { Finding } from '../mistakes/mistakes.ts';
import type { TracingConfig, TracingContent } from '../tracing-definition.ts';
import { contentOf, type ReadFile } from './content.ts';

export type TracingResult =
  | { readonly kind: 'tracing'; readonly tracing: TracingConfig }
  | { readonly kind: 'finding'; readonly finding: Finding };

export function readTracing(said: TracingContent, readFile: ReadFile): TracingResult {
  if (said.headersFile === null) return { kind: 'tracing', tracing: { ...said, headers: [] } };
  const content = contentOf(said.headersFile, readFile);
  const read = content.kind === 'content' ? readHeaderLines(content.bytes.toString('utf8')) : content;
  if ('headers' in read) return { kind: 'tracing', tracing: { ...said, headers: read.headers } };
  return { kind: 'finding', finding: { path: ['tracing', 'headers_file'], message: read.message, onKey: false } };
}

const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110, section 5.5, without what is outside ASCII. */
const fieldValue = /^[\t\x20-\x7e]*$/;

/** A file of lines `name: value`; empty lines count for nothing. A mistake names the line and repeats nothing of it. */
function readHeaderLines(text: string): { headers: HeaderList } | { message: string } {
  const headers: [string, string][] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':');
    const [name, value] = [line.slice(0, Math.max(0, colon)).trim(), line.slice(colon + 1).trim()];
    if (!fieldName.test(name) || !fieldValue.test(value)) {
      return { message: `line ${index + 1} of the file is no header, expected lines such as authorization: Bearer …` };
    }
    headers.push([name.toLowerCase(), value]);
  }
  return { headers };
}
