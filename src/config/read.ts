/**
 * From the text of a configuration file to a `Config`, or to every mistake in it at once. Files are read by the
 * caller's function.
 */
import { inconsistencies, inconsistenciesOfPolicy } from './consistency.ts';
import { knownKeys, parseContent } from './definition.ts';
import type { Config, ConfigContent } from './definition.ts';
import { dottedPath, findingsOf, printPath } from './mistakes/mistakes.ts';
import type { Finding, KeyPath, Mistake } from './mistakes/mistakes.ts';
import { contentOf, type ReadFile } from './named-files/content.ts';
import { readSecret } from './named-files/secret.ts';
import { readTls } from './named-files/tls.ts';
import { readTracing } from './named-files/tracing-headers.ts';
import { readPolicies, type NamedPolicies } from './policy/named-policies.ts';
import { readSource } from './source.ts';

export type { ReadFile };

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
  // Of a file with mistakes no configuration is made, whatever could be read of it.
  if (judged.config !== null && mistakes.length === 0) return { kind: 'config', config: judged.config };
  return { kind: 'mistakes', mistakes: mistakes.sort((a, b) => a.line - b.line) };
}

/** The configuration of a file at `path`; of no file, the defaults. A file that cannot be read is a mistake. */
export function readConfigFile(path: string | null, readFile: ReadFile): ConfigResult {
  if (path === null) return { kind: 'config', config: defaultConfig() };
  const content = contentOf(path, readFile);
  if (content.kind === 'content') return readConfig(content.bytes.toString('utf8'), { file: path, readFile });
  const mistake = { file: path, line: 1, path: '(document)', message: content.message };
  return { kind: 'mistakes', mistakes: [mistake] };
}

/** The configuration of an empty file. */
export function defaultConfig(): Config {
  const { data } = parseContent({});
  if (data === undefined) throw new Error('the defaults satisfy their own definition');
  return configOf(data, { secret: null, tls: null, policies: [], tracing: null });
}

interface Judgement {
  readonly config: Config | null;
  readonly findings: readonly Finding[];
}

function judge(data: unknown, readFile: ReadFile): Judgement {
  const parsed = parseContent(data);
  const findings = parsed.success ? [] : findingsOf(parsed.error.issues, knownKeys());
  // What holds between keys is checked without those that are wrong by themselves: all mistakes at once.
  const { content, left } = parsed.success ? { content: parsed.data, left: [] } : sound(data, findings);
  if (content === null) return { config: null, findings };
  const faulty = new Set(left.map(dottedPath));
  const files = readNamedFiles(content, readFile);
  const named = namedOf(content);
  const all = [...findings, ...inconsistencies(content, faulty), ...named.findings, ...files.findings];
  return { config: configOf(content, { ...files.content, policies: named.policies }), findings: all };
}

/** What stands in the files that the configuration names; of those with a mistake nothing is there. */
function readNamedFiles(
  { secretText, secretFile, tlsFiles, tracing }: ConfigContent,
  readFile: ReadFile,
): { content: Pick<Config, 'secret' | 'tls' | 'tracing'>; findings: readonly Finding[] } {
  const secret = readSecret({ text: secretText, file: secretFile }, readFile);
  const tls = tlsFiles === null ? null : readTls(tlsFiles, { readFile, now: Date.now() });
  const traced = tracing === null ? null : readTracing(tracing, readFile);
  return {
    content: {
      secret: secret.kind === 'secret' ? secret.secret : null,
      tls: tls?.kind === 'tls' ? tls.tls : null,
      tracing: traced?.kind === 'tracing' ? traced.tracing : null,
    },
    findings: [
      ...(secret.kind === 'finding' ? [secret.finding] : []),
      ...(tls?.kind === 'findings' ? tls.findings : []),
      ...(traced?.kind === 'finding' ? [traced.finding] : []),
    ],
  };
}

function namedOf(content: ConfigContent): NamedPolicies {
  const read = readPolicies(content.policy, content.policyData, knownKeys());
  const conflicts = read.policies.flatMap((policy) => inconsistenciesOfPolicy(policy, content));
  return { policies: read.policies, findings: [...read.findings, ...conflicts] };
}

function configOf(content: ConfigContent, rest: Pick<Config, 'secret' | 'tls' | 'policies' | 'tracing'>): Config {
  const { secretText: _text, secretFile: _file, tlsFiles: _tls, policyData: _data, ...said } = content;
  return { ...said, ...rest };
}

/** What can be read without the values that have a mistake, and which are left out. Null: nothing can. */
function sound(
  data: unknown,
  findings: readonly Finding[],
): { content: ConfigContent | null; left: readonly KeyPath[] } {
  const left = findings.map(({ path }) => path);
  for (;;) {
    const parsed = parseContent(without(data, left));
    if (parsed.success) return { content: parsed.data, left };
    // A key that is missing is not found by leaving it out: what it is missing from goes with it.
    const lacking = findingsOf(parsed.error.issues, knownKeys()).map(({ path }) => path.slice(0, -1));
    const known = new Set(left.map((path) => JSON.stringify(path)));
    const more = lacking.filter((path) => !known.has(JSON.stringify(path)));
    if (more.length === 0 || more.some((path) => path.length === 0)) return { content: null, left };
    left.push(...more);
  }
}

/** A copy of plain data without the values at these paths. */
function without(data: unknown, paths: readonly KeyPath[]): unknown {
  const copy = structuredClone(data);
  for (const whole of paths) {
    // An entry goes with its whole list: without it its fellows would move.
    const index = whole.findIndex((step) => typeof step === 'number');
    const path = index === -1 ? whole : whole.slice(0, index);
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
