/**
 * `doctor`: what in an Envoy configuration would break coalescing. Reads a file or a running Envoy's admin, and prints what
 * the diagnosis finds; judges nothing itself, writes nothing.
 */
import { printMistake } from '../config/mistakes/mistakes.ts';
import { readConfigFile, type ReadFile } from '../config/read.ts';
import { readSource } from '../config/source.ts';
import { readDeployment, type Deployment } from '../doctor/deployment.ts';
import { diagnose } from '../doctor/diagnose.ts';
import type { Finding } from '../doctor/finding.ts';
import { at, printEnvoyPath, type EnvoyPath, type Node } from '../doctor/node.ts';
import type { CommandResult } from './check.ts';
import { exitCodes } from './command-line.ts';

export interface DoctorOptions {
  /** The processor's own; null: its defaults. */
  readonly config: string | null;
  readonly target: { readonly kind: 'file'; readonly path: string } | { readonly kind: 'admin'; readonly url: string };
  readonly json: boolean;
}

export interface DoctorInputs {
  readonly readFile: ReadFile;
  /** The body of a successful answer; rejects with the reason otherwise. */
  readonly readUrl: (url: string) => Promise<string>;
}

/** What there is to look at. */
interface Patient {
  readonly deployment: Deployment;
  readonly serverInfo: unknown;
  /** `envoy.yaml:12`, or the admin's URL. */
  readonly placeOf: (path: EnvoyPath) => string;
}

/** A configuration that cannot be read, in words. */
class UnreadableError extends Error {}

export async function doctor(options: DoctorOptions, inputs: DoctorInputs): Promise<CommandResult> {
  const own = readConfigFile(options.config, inputs.readFile);
  if (own.kind === 'mistakes') return unreadable(own.mistakes.map((mistake) => `${printMistake(mistake)}\n`).join(''));
  try {
    const patient = await examine(options.target, inputs);
    const findings = diagnose({ config: own.config, ...patient });
    const stdout = options.json ? printJson(findings) : printText(findings, patient);
    const hasErrors = findings.some(({ severity }) => severity === 'error');
    return { stdout, stderr: '', exitCode: hasErrors ? exitCodes.mistakes : exitCodes.ok };
  } catch (error) {
    if (error instanceof UnreadableError) return unreadable(`${error.message}\n`);
    throw error;
  }
}

function examine(target: DoctorOptions['target'], { readFile, readUrl }: DoctorInputs): Promise<Patient> | Patient {
  return target.kind === 'file' ? examineFile(target.path, readFile) : examineAdmin(target.url, readUrl);
}

function examineFile(path: string, readFile: ReadFile): Patient {
  const source = readSource(textOf(path, readFile));
  const [mistake] = source.mistakes;
  if (mistake !== undefined) throw new UnreadableError(`${path}:${mistake.line}: ${mistake.message}`);
  const deployment = readDeployment(source.data);
  if (deployment === null)
    throw new UnreadableError(`${path}:1: not an Envoy configuration: no static_resources in it`);
  const placeOf = (place: EnvoyPath): string => {
    return `${path}:${source.lineOf({ path: standing(deployment.root, place), onKey: true })}`;
  };
  return { deployment, serverInfo: null, placeOf };
}

/** As far as a path is there: the line to change is that of the thing in which something is missing. */
function standing(root: Node, path: EnvoyPath): EnvoyPath {
  const missing = path.findIndex((_, index) => at(root, ...path.slice(0, index + 1)).value === undefined);
  return missing === -1 ? path : path.slice(0, missing);
}

function textOf(path: string, readFile: ReadFile): string {
  try {
    return Buffer.from(readFile(path)).toString('utf8');
  } catch (error) {
    throw new UnreadableError(`${path}:1: cannot be read: ${reason(error)}`);
  }
}

async function examineAdmin(url: string, readUrl: DoctorInputs['readUrl']): Promise<Patient> {
  const base = url.replace(/\/+$/, '');
  const read = async (page: string): Promise<unknown> => {
    try {
      return JSON.parse(await readUrl(`${base}${page}`)) as unknown;
    } catch (error) {
      throw new UnreadableError(`${base}${page}: cannot be read: ${reason(error)}`);
    }
  };
  const [dump, serverInfo] = await Promise.all([read('/config_dump'), read('/server_info')]);
  const deployment = readDeployment(dump);
  if (deployment === null) throw new UnreadableError(`${base}/config_dump: not an Envoy configuration`);
  return { deployment, serverInfo, placeOf: () => base };
}

function printJson(findings: readonly Finding[]): string {
  return findings
    .map(({ id, severity, path, consequence, fix }) => {
      return `${JSON.stringify({ id, severity, path: printEnvoyPath(path), consequence, fix })}\n`;
    })
    .join('');
}

function printText(findings: readonly Finding[], { placeOf }: Patient): string {
  const blocks = findings.map(({ id, severity, path, consequence, fix }) => {
    const where = `${placeOf(path)} ${printEnvoyPath(path)}`.trimEnd();
    return `${severity} ${id}\n  at   ${where}\n  then ${consequence}\n  fix  ${fix}\n\n`;
  });
  const count = (severity: Finding['severity']): number => findings.filter((one) => one.severity === severity).length;
  const summary = `${plural(count('error'), 'error')}, ${plural(count('warning'), 'warning')}`;
  return `${blocks.join('')}${findings.length === 0 ? 'nothing found' : summary}\n`;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

function unreadable(stderr: string): CommandResult {
  return { stdout: '', stderr, exitCode: exitCodes.wrongConfig };
}

/** Node's fetch says only that it failed; why is in its cause. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
