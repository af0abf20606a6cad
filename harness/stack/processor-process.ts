/**
 * A running processor, `dist/main.js serve`: started, restarted on the same ports, asked by its admin address.
 */
import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { stringify } from 'yaml';
import { repositoryRoot } from '../root.ts';
import { type Child, type Exit, startChild, waitUntil } from './child.ts';

export type ProcessorProcess = {
  /** Of the process that runs now. */
  readonly pid: number;
  /** Resolves when the process that runs now has ended. */
  readonly exit: Promise<Exit>;
  readonly adminUrl: string;
  kill(signal: NodeJS.Signals): void;
  /** Where its configuration stands. */
  readonly configPath: string;
  /** What it was started with. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Writes another configuration, or any text, and has it read: SIGHUP. Returns once it is in force or refused. */
  reload(config: Readonly<Record<string, unknown>> | string): Promise<void>;
  /** Ends it if need be and starts it again, on the same ports and with the same configuration. */
  restart(): Promise<void>;
  /** Every sample of `/metrics`, by name and labels as printed: `coalesce_requests_total{outcome="leader"}`. */
  metrics(): Promise<Map<string, number>>;
  /** What `/flights` answers. */
  flights(): Promise<unknown>;
  /** Its log lines up to now, of all its runs. */
  log(): Promise<Array<Record<string, unknown>>>;
  end(): Promise<void>;
};

/** Its drain waits for every flight, which a test that is over does not. */
const drainGraceMs = 500;

/** Starts the processor with this configuration and waits until it listens. */
export async function startProcessor(
  config: Record<string, unknown>,
  options: { folder: string; adminPort: number; nodeOptions?: readonly string[] | undefined },
): Promise<ProcessorProcess> {
  const configPath = join(options.folder, 'coalescer.yaml');
  await writeFile(configPath, stringify(config));
  const adminUrl = `http://127.0.0.1:${options.adminPort}`;
  let child = await run(configPath, options);
  const metrics = async (): Promise<Map<string, number>> => parseMetrics(await getText(`${adminUrl}/metrics`));
  return {
    config,
    configPath,
    reload: async (next) => {
      const earlier = reloads(await metrics());
      // At once after it: given time, the processor would see the change by itself, and read it twice.
      await writeFile(configPath, typeof next === 'string' ? next : stringify(next));
      child.kill('SIGHUP');
      const look = async (): Promise<true | undefined> => (reloads(await metrics()) > earlier ? true : undefined);
      await waitUntil(child, { what: 'reading of its configuration', timeoutMs: 5_000, look });
    },
    get pid() {
      return child.pid;
    },
    get exit() {
      return child.exit;
    },
    adminUrl,
    kill: (signal) => child.kill(signal),
    restart: async () => {
      await child.end(drainGraceMs);
      child = await run(configPath, options);
    },
    metrics,
    flights: async () => JSON.parse(await getText(`${adminUrl}/flights`)) as unknown,
    log: async () => logLines(await child.stdout()),
    end: () => child.end(drainGraceMs),
  };
}

const FIRST_PORT = 15_000;
/** Test files that run at the same time take their ports from slices of their own. */
const SLICES = 8;
const SLICE_PORTS = 2_000;
const ownSlice = Number(process.env['VITEST_POOL_ID'] ?? process.pid) % SLICES;

/** Given away of late: whoever has one may not listen at it yet. */
const given = new Set<number>();
const GIVEN_LIMIT = 200;

/**
 * A port that is free now and stays so: outside the range from which the system takes ports for connections, so that a
 * busy neighbour does not get it between two runs of the processor.
 */
export async function freePort(): Promise<number> {
  const first = FIRST_PORT + ownSlice * SLICE_PORTS;
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = first + randomInt(SLICE_PORTS);
    if (given.has(port)) continue;
    // Before it is tried: others may ask meanwhile.
    remember(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${first} to ${first + SLICE_PORTS - 1} in 100 attempts`);
}

function remember(port: number): void {
  given.add(port);
  const [oldest] = given;
  if (given.size > GIVEN_LIMIT && oldest !== undefined) given.delete(oldest);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

async function run(
  configPath: string,
  { folder, nodeOptions = [] }: { folder: string; nodeOptions?: readonly string[] | undefined },
): Promise<Child> {
  const child = await startChild({
    name: 'the processor',
    command: process.execPath,
    args: [...nodeOptions, join(repositoryRoot, 'dist', 'main.js'), 'serve', '--config', configPath],
    logBase: join(folder, 'processor'),
  });
  const isOwn = (line: Record<string, unknown>): boolean => line['event'] === 'listening' && line['pid'] === child.pid;
  try {
    await waitUntil(child, {
      what: 'line that says it listens',
      timeoutMs: 20_000,
      look: async () => logLines(await child.stdout()).find(isOwn),
    });
  } catch (error) {
    await child.end();
    throw error;
  }
  return child;
}

async function getText(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`GET ${url} answered ${response.status}: ${text}`);
  return text;
}

/** Complete lines of JSON; a stack trace or the like on the same stream is passed over. */
function logLines(text: string): Array<Record<string, unknown>> {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function reloads(samples: ReadonlyMap<string, number>): number {
  const of = (result: string): number => samples.get(`coalesce_config_reloads_total{result="${result}"}`) ?? 0;
  return of('applied') + of('refused');
}

function parseMetrics(text: string): Map<string, number> {
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}
