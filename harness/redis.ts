/**
 * Real Redis servers: one, one with replicas, a Cluster; started on free ports, stopped, gone on, killed and started again
 * by their pids. The binary is REDIS_SERVER_BIN (a Redis or a Valkey) or the system's; .ci/redis installs one on Debian.
 */
import { createClient, RESP_TYPES, type RedisArgument } from '@redis/client';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { startChild, waitUntil, type Child } from './stack/child.ts';
import { freePort } from './stack/processor-process.ts';

export type RedisServer = {
  readonly port: number;
  /** `redis://127.0.0.1:PORT` */
  readonly url: string;
  /** One command on a connection of its own, its strings as Buffers; rejects with what the server says. */
  command(...args: readonly RedisArgument[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  readonly exit: Promise<unknown>;
  /** Starts it again on its port, without data: as it was started first, unless other arguments are given. */
  restart(...args: readonly string[]): Promise<void>;
  end(): Promise<void>;
};

export type RedisCluster = {
  readonly nodes: readonly RedisServer[];
  /** `redis+cluster://…` with all nodes. */
  readonly url: string;
  end(): Promise<void>;
};

const candidates = [process.env['REDIS_SERVER_BIN'], '/usr/bin/redis-server', '/usr/local/bin/redis-server'];

/** A Sentinel that alone decides on the failover of this master, which it calls `mine`. */
export async function startSentinel(master: { readonly port: number }): Promise<RedisServer> {
  return serve(async (port, folder) => {
    const file = join(folder, 'sentinel.conf');
    const watch = [
      `sentinel monitor mine 127.0.0.1 ${master.port} 1`,
      'sentinel down-after-milliseconds mine 500',
      'sentinel failover-timeout mine 3000',
    ];
    await writeFile(file, `${watch.join('\n')}\n`);
    return [file, '--sentinel', '--port', String(port), '--bind', '127.0.0.1'];
  });
}

/** Where the server is; undefined where there is none. */
export function findRedis(): string | undefined {
  return candidates.find((path) => path !== undefined && path !== '' && existsSync(path));
}

/** A server without persistence; `args` as on its command line. */
export async function startRedis(...args: readonly string[]): Promise<RedisServer> {
  const isNode = args.includes('--cluster-enabled');
  if (!isNode) return serve((port) => [...portArguments(port), ...args]);
  // What a node knows of the others outlives it.
  return serve((port, folder) => {
    return [...portArguments(port), ...args, '--cluster-config-file', join(folder, 'nodes.conf')];
  }, freeNodePort);
}

async function serve(
  argumentsFor: (port: number, folder: string) => Promise<string[]> | string[],
  findPort: () => Promise<number> = freePort,
): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-redis-'));
  const port = await findPort();
  const first = await argumentsFor(port, folder);
  let child = await run(folder, first);
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: (...command) => commandOnce(port, command),
    kill: (signal) => child.kill(signal),
    get exit() {
      return child.exit;
    },
    restart: async (...others) => {
      await child.end();
      child = await run(folder, others.length === 0 ? first : [...portArguments(port), ...others]);
    },
    end: async () => {
      await child.end();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Masters that share the slots evenly, without replicas. */
export async function startRedisCluster(size: number = 3): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const end = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.end()));
  };
  try {
    for (let index = 0; index < size; index += 1) nodes.push(await startNode());
    await share(nodes);
  } catch (error) {
    await end();
    throw error;
  }
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return { nodes, url: `redis+cluster://${hosts}`, end };
}

/** Nodes of a Cluster talk on the port 10,000 above their own: below 32,768 that is no port of anybody's connection either. */
async function freeNodePort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port < 22_000) return port;
  }
}

const SLOTS = 16_384;

/** Its bus gets a port that is free too: the usual one, 10,000 above, may be anybody's. */
async function startNode(): Promise<RedisServer> {
  const bus = ['--cluster-port', String(await freePort())];
  return startRedis('--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...bus);
}

/** Each takes its part of the slots, and all know each other. */
async function share(nodes: readonly RedisServer[]): Promise<void> {
  const bound = (index: number): number => Math.floor((index * SLOTS) / nodes.length);
  const [first] = nodes;
  for (const [index, node] of nodes.entries()) {
    const range = [String(bound(index)), String(bound(index + 1) - 1)];
    await node.command('CLUSTER', 'ADDSLOTSRANGE', ...range);
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    if (first !== undefined && node !== first) await meet(node, first);
  }
  for (const node of nodes) await isWhole(node, nodes.length);
}

async function meet(node: RedisServer, other: RedisServer): Promise<void> {
  const [, bus] = (await other.command('CONFIG', 'GET', 'cluster-port')) as [Buffer, Buffer];
  await node.command('CLUSTER', 'MEET', '127.0.0.1', String(other.port), String(bus));
}

async function isWhole(node: RedisServer, size: number): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const info = String(await node.command('CLUSTER', 'INFO'));
    if (info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${size}`)) return;
    if (performance.now() > deadline) throw new Error(`the Cluster is not whole:\n${info}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function portArguments(port: number): string[] {
  return ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
}

async function run(folder: string, args: readonly string[]): Promise<Child> {
  const command = findRedis();
  if (command === undefined) throw new Error('Redis is missing: run .ci/redis, or set REDIS_SERVER_BIN.');
  const work = await mkdtemp(join(folder, 'run-'));
  const child = await startChild({
    name: 'Redis',
    command,
    args: [...args, '--dir', work],
    logBase: join(work, 'redis'),
  });
  try {
    const look = async (): Promise<true | undefined> => {
      return /Ready to accept connections|Sentinel ID is/.test(await child.stdout()) || undefined;
    };
    await waitUntil(child, { what: 'ready line', timeoutMs: 20_000, look });
  } catch (error) {
    await child.end();
    throw error;
  }
  return child;
}

async function commandOnce(port: number, args: readonly RedisArgument[]): Promise<unknown> {
  const commandOptions = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
  const client = createClient({
    RESP: 2,
    commandOptions,
    socket: { host: '127.0.0.1', port, reconnectStrategy: false },
  });
  // What goes wrong rejects what is awaited.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await client.sendCommand([...args]);
  } finally {
    client.destroy();
  }
}
