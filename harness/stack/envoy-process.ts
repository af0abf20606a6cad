/**
 * A running Envoy: started on ports of its own choice, ready when it says so, asked by its admin interface.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { findEnvoy } from '../envoy-binary.ts';
import { type Child, startChild, waitUntil } from './child.ts';
import type { EnvoyConfig } from './envoy-config.ts';

export type EnvoyProcess = {
  readonly pid: number;
  readonly adminUrl: string;
  /** Port of each listener, by its name. */
  readonly ports: ReadonlyMap<string, number>;
  /** Counters and gauges whose names match the regular expression (all without one). */
  stats(filter?: string): Promise<Map<string, number>>;
  /** The access log's lines up to now; Envoy writes them some 50 ms after an exchange ends. */
  accessLog(): Promise<Array<Record<string, unknown>>>;
  kill(signal: NodeJS.Signals): void;
  end(): Promise<void>;
};

/** Starts Envoy and waits until it serves. */
export async function startEnvoy(
  config: EnvoyConfig,
  options: { folder: string; version: string | undefined; concurrency: number; args?: readonly string[] },
): Promise<EnvoyProcess> {
  const { folder, version, concurrency, args = [] } = options;
  const configPath = join(folder, 'envoy.yaml');
  const adminPath = join(folder, 'envoy.admin');
  await writeFile(configPath, stringify(config));
  const child = await startChild({
    name: 'Envoy',
    command: await findEnvoy(version),
    args: [
      ...['--config-path', configPath, '--admin-address-path', adminPath],
      ...['--concurrency', String(concurrency), '--log-level', 'warning'],
      // Several run side by side, and none is ever restarted hot; a reader of the access log does not wait for 10 s.
      ...['--disable-hot-restart', '--file-flush-interval-msec', '50'],
      ...args,
    ],
    logBase: join(folder, 'envoy'),
  });
  try {
    return await observe(child, adminPath);
  } catch (error) {
    await child.end();
    throw error;
  }
}

async function observe(child: Child, adminPath: string): Promise<EnvoyProcess> {
  const address = await waitUntil(child, {
    what: 'admin address',
    timeoutMs: 20_000,
    look: async () => (await readFile(adminPath, 'utf8').catch(() => '')) || undefined,
  });
  const adminUrl = `http://${address}`;
  await waitUntil(child, { what: 'readiness', timeoutMs: 20_000, look: () => isReady(adminUrl) });
  return {
    pid: child.pid,
    adminUrl,
    ports: await listenerPorts(adminUrl),
    stats: (filter) => stats(adminUrl, filter),
    accessLog: async () => jsonLines(await child.stdout()),
    kill: (signal) => child.kill(signal),
    end: () => child.end(),
  };
}

async function isReady(adminUrl: string): Promise<true | undefined> {
  const status = await fetch(`${adminUrl}/ready`).then(
    async (response) => (await response.text(), response.status),
    () => 0,
  );
  return status === 200 ? true : undefined;
}

type ListenersAnswer = {
  listener_statuses: Array<{ name: string; local_address: { socket_address: { port_value: number } } }>;
};

async function listenerPorts(adminUrl: string): Promise<Map<string, number>> {
  const answer = (await (await fetch(`${adminUrl}/listeners?format=json`)).json()) as ListenersAnswer;
  return new Map(
    answer.listener_statuses.map(({ name, local_address }) => [name, local_address.socket_address.port_value]),
  );
}

async function stats(adminUrl: string, filter: string | undefined): Promise<Map<string, number>> {
  const query = filter === undefined ? '' : `?filter=${encodeURIComponent(filter)}`;
  const text = await (await fetch(`${adminUrl}/stats${query}`)).text();
  const pairs = text.split('\n').map((line) => /^(.+): (\d+)$/.exec(line));
  return new Map(pairs.flatMap((pair) => (pair === null ? [] : [[String(pair[1]), Number(pair[2])] as const])));
}

/** Complete lines only: the last one may be half written. */
function jsonLines(text: string): Array<Record<string, unknown>> {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
}
