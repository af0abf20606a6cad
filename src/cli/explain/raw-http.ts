/** One HTTP/1.1 request as text, as a person or a proxy writes it down: lines may end with LF alone. */
import type { HeaderList } from '../../coalesce/request/head.ts';
import type { PlainRequest } from './plain-request.ts';

const REQUEST_LINE = /^([A-Za-z-]+) ((?:\/|https?:\/\/)\S*)(?: HTTP\/[\d.]+)?$/;

/** Throws with what is wrong. */
export function readHttp(content: Buffer): PlainRequest {
  const text = content.toString('latin1');
  const start = text.search(/\S/);
  const blank = /\r?\n\r?\n/.exec(text.slice(Math.max(start, 0)));
  const end = blank === null ? text.length : start + blank.index;
  const [line = '', ...lines] = text.slice(Math.max(start, 0), end).split(/\r?\n/);
  const [, method, target] = REQUEST_LINE.exec(line.trim()) ?? [];
  if (method === undefined || target === undefined)
    throw new Error('neither JSON nor HTTP, expected a first line such as POST /v1/chat/completions HTTP/1.1');
  const headers = lines.filter((one) => one.trim() !== '').map(readField);
  const rest = blank === null ? Buffer.alloc(0) : content.subarray(end + blank[0].length);
  return { method, target, headers, body: bodyOf(rest, headers) };
}

function readField(line: string): HeaderList[number] {
  // The colon of a pseudo-header is not the one that ends a name.
  const colon = line.indexOf(':', 1);
  if (colon === -1) throw new Error(`no header: ${JSON.stringify(line.slice(0, 60))}`);
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
}

function bodyOf(rest: Buffer, headers: HeaderList): Buffer {
  const coding = headers.find(([name]) => name === 'transfer-encoding')?.[1] ?? '';
  const chunks = /\bchunked$/i.test(coding) ? joinChunks(rest) : null;
  if (chunks !== null) return chunks;
  const length = headers.find(([name]) => name === 'content-length')?.[1] ?? '';
  if (/^\d{1,15}$/.test(length)) return rest.subarray(0, Number(length));
  return withoutLineEnd(rest);
}

/** Editors end a file with a line end. */
function withoutLineEnd(rest: Buffer): Buffer {
  const end = rest.at(-1) === 0x0a ? (rest.at(-2) === 0x0d ? -2 : -1) : rest.length;
  return rest.subarray(0, end);
}

/** Null where the body is not written in chunks, as some tools decode them but leave the header. */
function joinChunks(rest: Buffer): Buffer | null {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf('\n', at);
    const size = /^([0-9a-f]{1,8})(?:;.*)?\r?$/i.exec(rest.toString('latin1', at, Math.max(at, lineEnd)))?.[1];
    if (size === undefined) return null;
    const length = Number.parseInt(size, 16);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(rest.subarray(lineEnd + 1, lineEnd + 1 + length));
    const next = rest.indexOf('\n', lineEnd + 1 + length);
    if (next === -1) return null;
    at = next + 1;
  }
}
