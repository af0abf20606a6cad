/**
 * From the text of a configuration file to a `Config`, or to every mistake in it at once. Files are read by the
 * caller's function.
 */
import { inconsistencies, inconsistenciesOfPolicy } from './consistency.ts';
import { knownKeys, leastSecretBytes, parseContent } from './definition.ts';
import type { Config, ConfigContent } from './definition.ts';
import { dottedPath, findingsOf, printPath } from './mistakes/mistakes.ts';
import type { Finding, KeyPath, Mistake } from './mistakes/mistakes.ts';
import { readPolicies, type NamedPolicies } from './policy/named-policies.ts';
import { readSource } from './source.ts';
import { readHeaderLines, type TracingConfig } from './tracing-definition.ts';

/** The content of a file; throws where it cannot be read. */
export type ReadFile = (path: string) => string | Uint8Array;

export type ConfigResult =
  | { readonly kind: 'config'; readonly config: Config }
  | { readonly kind: 'mistakes'; readonly mistakes: readonly Mistake[] };

/** `file` names the text in mistakes; `readFile` reads `key.secret_file`. */
export function readConfig(
  text: string,
  options: { readonly file: string; readonly readFile: ReadFile },
): ConfigResult {
  const source = readSource(text);
  const place = (finding: Finding, line = source.lineOf(finding)): Mistake => {
    return { file: options.file, line, path: printPath(source.trim(finding.path)), message: finding.message };
  };
  const mistakes = source.mistakes.map((mistake) => place(mistake, mistake.line));
  if (source.data === undefined) return { kind: 'mistakes', mistakes };
  const judged = judge(source.data, options.readFile);
  mistakes.push(...judged.findings.map((finding) => place(finding)));
  if (judged.config !== null && mistakes.length === 0) return { kind: 'config', config: judged.config };
  return { kind: 'mistakes', mistakes: mistakes.sort((a, b) => a.line - b.line) };
}

/** The configuration of a file at `path`; of no file, the defaults. A file that cannot be read is a mistake. */
export function readConfigFile(path: string | null, readFile: ReadFile): ConfigResult {
  if (path === null) return { kind: 'config', config: defaultConfig() };
  const content = attempt(() => Buffer.from(readFile(path)).toString('utf8'));
  if (content.kind === 'read') return readConfig(content.value, { file: path, readFile });
  const mistake = { file: path, line: 1, path: '(document)', message: `cannot be read: ${content.message}` };
  return { kind: 'mistakes', mistakes: [mistake] };
}

/** The configuration of an empty file. */
export function defaultConfig(): Config {
  const { data } = parseContent({});
  if (data === undefined) throw new Error('the defaults satisfy their own definition');
  return configOf(data, { secret: null, policies: [], tracing: null });
}

interface Judgement {
  readonly config: Config | null;
  readonly findings: readonly Finding[];
}

function judge(data: unknown, readFile: ReadFile): Judgement {
  const parsed = parseContent(data);
  const findings = parsed.success ? [] : findingsOf(parsed.error.issues, knownKeys());
  // What holds between keys is checked without those that are wrong by themselves: all mistakes at once.
  const content = parsed.data ?? parseContent(without(data, findings)).data;
  if (content === undefined) return { config: null, findings };
  const faulty = new Set(findings.map(({ path }) => dottedPath(path)));
  const secret = readSecret(content, readFile);
  const tracing = readTracing(content, readFile);
  const named = namedOf(content);
  const all = [...findings, ...inconsistencies(content, faulty), ...named.findings];
  if (secret.kind === 'finding') all.push(secret.finding);
  if (tracing.kind === 'finding') all.push(tracing.finding);
  if (secret.kind === 'finding' || tracing.kind === 'finding') return { config: null, findings: all };
  const rest = { secret: secret.secret, policies: named.policies, tracing: tracing.tracing };
  return { config: configOf(content, rest), findings: all };
}

function namedOf(content: ConfigContent): NamedPolicies {
  const read = readPolicies(content.policy, content.policyData, knownKeys());
  const conflicts = read.policies.flatMap((policy) => inconsistenciesOfPolicy(policy, content));
  return { policies: read.policies, findings: [...read.findings, ...conflicts] };
}

type SecretResult =
  { readonly kind: 'secret'; readonly secret: Buffer | null } | { readonly kind: 'finding'; readonly finding: Finding };

function readSecret({ secretText, secretFile }: ConfigContent, readFile: ReadFile): SecretResult {
  if (secretText !== null) return longEnough(Buffer.from(secretText), ['key', 'secret']);
  if (secretFile === null) return { kind: 'secret', secret: null };
  const path = ['key', 'secret_file'];
  const content = attempt(() => Buffer.from(readFile(secretFile)));
  if (content.kind === 'read') return longEnough(withoutLineEnd(content.value), path);
  return { kind: 'finding', finding: { path, message: `cannot be read: ${content.message}`, onKey: false } };
}

type TracingResult =
  | { readonly kind: 'tracing'; readonly tracing: TracingConfig | null }
  | { readonly kind: 'finding'; readonly finding: Finding };

function readTracing({ tracing }: ConfigContent, readFile: ReadFile): TracingResult {
  if (tracing === null) return { kind: 'tracing', tracing };
  const { headersFile } = tracing;
  if (headersFile === null) return { kind: 'tracing', tracing: { ...tracing, headers: [] } };
  const path = ['tracing', 'headers_file'];
  const content = attempt(() => Buffer.from(readFile(headersFile)).toString('utf8'));
  const read =
    content.kind === 'read' ? readHeaderLines(content.value) : { message: `cannot be read: ${content.message}` };
  if ('message' in read) return { kind: 'finding', finding: { path, message: read.message, onKey: false } };
  return { kind: 'tracing', tracing: { ...tracing, headers: read.headers } };
}

function longEnough(secret: Buffer, path: KeyPath): SecretResult {
  if (secret.length >= leastSecretBytes) return { kind: 'secret', secret };
  const message = `holds ${secret.length} bytes, expected at least ${leastSecretBytes}`;
  return { kind: 'finding', finding: { path, message, onKey: false } };
}

/** Editors and `echo` end a file with a line end that nobody means as part of the secret. */
function withoutLineEnd(content: Buffer): Buffer {
  const end = content.at(-1) === 0x0a ? (content.at(-2) === 0x0d ? -2 : -1) : content.length;
  return content.subarray(0, end);
}

function configOf(content: ConfigContent, rest: Pick<Config, 'secret' | 'policies' | 'tracing'>): Config {
  const { secretText: _text, secretFile: _file, policyData: _data, ...said } = content;
  return { ...said, ...rest };
}

/** A copy of plain data without the values at these paths. */
function without(data: unknown, findings: readonly Finding[]): unknown {
  const copy = structuredClone(data);
  for (const finding of findings) {
    // An entry goes with its whole list: without it its fellows would move.
    const index = finding.path.findIndex((step) => typeof step === 'number');
    const path = index === -1 ? finding.path : finding.path.slice(0, index);
    const last = path.at(-1);
    let parent: unknown = copy;
    for (const step of path.slice(0, -1)) parent = isRecord(parent) ? parent[step] : undefined;
    if (isRecord(parent) && last !== undefined) delete parent[last];
  }
  return copy;
}

function isRecord(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}

type Attempt<Value> =
  { readonly kind: 'read'; readonly value: Value } | { readonly kind: 'failed'; readonly message: string };

function attempt<Value>(action: () => Value): Attempt<Value> {
  try {
    return { kind: 'read', value: action() };
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
