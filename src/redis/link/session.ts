/**
 * One set of connections to a Redis, from its opening to its loss: for decisions, for streams, for wake-ups, so that the
 * bytes of answers hold up no decision. Owns the client library; when to open another is `link.ts`'s.
 */

import { createClient, createCluster, RESP_TYPES } from '@redis/client';

import { formatEndpoint, type Endpoint, type RedisUrl } from '../../config/fleet/redis-url.ts';

export type Lane = 'decisions' | 'streams';

/** Raw replies: numbers, null, lists, and Buffers for bulk strings. */
export interface Session {
  /** Sent to the node that has `key`. Rejects with what the server says, or with the connection's error. */
  readonly send: (lane: Lane, key: string, command: readonly (string | Buffer)[]) => Promise<unknown>;
  /** Once per channel and listener. Resolves when messages come. */
  readonly subscribe: (channel: string, listener: () => void) => Promise<void>;
  /** All listeners of the channel. */
  readonly unsubscribe: (channel: string) => Promise<void>;
  readonly destroy: () => void;
}

export interface SessionOptions {
  readonly url: RedisUrl;
  /** The longest that a connection may take. */
  readonly connectMs: number;
  /** Called once, after the session was opened, when it is of no more use. */
  readonly lost: (error: unknown) => void;
}

/** Answers that are awaited at once on one connection; more are refused. */
const MAX_OUTSTANDING = 10_000;

/** How long is waited for all nodes of a Cluster, so that no decision has to connect first; one may be absent. */
const ALL_NODES_MS = 300;

/** How soon a Cluster's map is asked for again where a node does not answer. */
const TOPOLOGY_REFRESH_MS = 250;

/** Resolves when everything can be used; rejects with nothing left open. */
export function openSession(options: SessionOptions): Promise<Session> {
  const { url } = options;
  switch (url.kind) {
    case 'single':
      return openServer(url.server, options);
    case 'sentinel':
      return openMaster(url, options);
    case 'cluster':
      return openCluster(url, options);
  }
}

interface Clients {
  readonly opened: Promise<unknown>;
  readonly session: Session;
}

async function settled({ opened, session }: Clients, connectMs: number): Promise<Session> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not connected within ${connectMs} ms`)), connectMs);
  });
  try {
    await Promise.race([opened, late]);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

type ServerOptions = NonNullable<Parameters<typeof createClient>[0]>;

function serverOptions(url: RedisUrl, connectMs: number): ServerOptions {
  return {
    ...(url.username === null ? {} : { username: url.username }),
    ...(url.password === null ? {} : { password: url.password }),
    ...(url.kind === 'cluster' || url.database === 0 ? {} : { database: url.database }),
    RESP: 2,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_OUTSTANDING,
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    socket: { connectTimeout: connectMs, reconnectStrategy: false, ...(url.tls ? { tls: true as const } : {}) },
  };
}

function openServer(server: Endpoint, options: SessionOptions): Promise<Session> {
  const { url, connectMs } = options;
  const lost = once(options.lost);
  const base = serverOptions(url, connectMs);
  const make = () => {
    const client = createClient({ ...base, socket: { ...base.socket, ...named(server) } });
    return client.on('error', lost);
  };
  const clients = { decisions: make(), streams: make(), wakeUps: make() };
  const all = Object.values(clients);
  const session: Session = {
    send: (lane, _key, command) => clients[lane].sendCommand([...command]),
    subscribe: (channel, listener) => clients.wakeUps.subscribe(channel, listener),
    unsubscribe: (channel) => clients.wakeUps.unsubscribe(channel),
    destroy: () => all.forEach((client) => client.destroy()),
  };
  return settled({ opened: Promise.all(all.map((client) => client.connect())), session }, connectMs);
}

/** TLS names its host by itself where the host is a name. */
function named({ host, port }: Endpoint): { host: string; port: number } {
  return { host, port };
}

/** The master, as the first Sentinel that answers names it, if it says so itself. */
async function openMaster(url: RedisUrl & { kind: 'sentinel' }, options: SessionOptions): Promise<Session> {
  const failures: string[] = [];
  for (const sentinel of url.sentinels) {
    const found = await askSentinel(sentinel, url, options.connectMs).catch((error: unknown) => {
      failures.push(`${formatEndpoint(sentinel)}: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    });
    if (found === null) continue;
    const session = await openServer(found, options);
    const role = await session.send('decisions', '', ['ROLE']).catch((error: unknown) => error);
    if (Array.isArray(role) && String(role[0]) === 'master') return session;
    session.destroy();
    failures.push(`${formatEndpoint(found)} is not the master that ${formatEndpoint(sentinel)} takes it for`);
  }
  throw new Error(`no Sentinel knows a master ${url.master} (${failures.join('; ')})`);
}

async function askSentinel(
  sentinel: Endpoint,
  url: RedisUrl & { kind: 'sentinel' },
  connectMs: number,
): Promise<Endpoint | null> {
  const base = serverOptions({ ...url, username: null, password: url.sentinelPassword, database: 0 }, connectMs);
  const client = createClient({ ...base, socket: { ...base.socket, ...named(sentinel) } });
  // What goes wrong rejects the commands below.
  client.on('error', () => undefined);
  const ask = async (): Promise<Endpoint | null> => {
    const reply: unknown = await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', url.master]);
    return Array.isArray(reply) ? { host: String(reply[0]), port: Number(reply[1]) } : null;
  };
  const session = { ...closed, destroy: () => client.destroy() };
  await settled({ opened: client.connect(), session }, connectMs);
  const answered = ask().finally(() => client.destroy());
  const timer = setTimeout(() => client.destroy(), connectMs);
  return answered.finally(() => clearTimeout(timer));
}

const closed: Session = {
  send: () => Promise.reject(new Error('closed')),
  subscribe: () => Promise.reject(new Error('closed')),
  unsubscribe: () => Promise.resolve(),
  destroy: () => undefined,
};

/** Nodes come and go by themselves; the session is lost only as a whole. */
function openCluster(url: RedisUrl & { kind: 'cluster' }, options: SessionOptions): Promise<Session> {
  const { connectMs } = options;
  const base = serverOptions(url, connectMs);
  const make = () => {
    const cluster = createCluster({
      RESP: 2,
      rootNodes: url.seeds.map((seed) => ({ socket: named(seed) })),
      defaults: { ...base, socket: { ...base.socket, reconnectStrategy: TOPOLOGY_REFRESH_MS } },
      minimizeConnections: true,
      topologyRefreshOnReconnectionAttemptStrategy: TOPOLOGY_REFRESH_MS,
      maxCommandRedirections: 3,
    });
    // A node's trouble is told by the commands that it fails.
    cluster.on('error', () => undefined);
    cluster.on('node-error', () => undefined);
    return cluster;
  };
  const clusters = { decisions: make(), streams: make() };
  const all = Object.values(clusters);
  const session: Session = {
    send: (lane, key, command) => clusters[lane].sendCommand(key, false, [...command]),
    subscribe: (channel, listener) => clusters.streams.subscribe(channel, listener),
    unsubscribe: (channel) => clusters.streams.unsubscribe(channel),
    destroy: () => all.forEach((cluster) => cluster.destroy()),
  };
  const opened = Promise.all(
    all.map(async (cluster) => {
      await cluster.connect();
      await shortly(Promise.allSettled(cluster.masters.map((node) => cluster.nodeClient(node))));
    }),
  );
  return settled({ opened, session }, connectMs);
}

/** Resolves with what is awaited or without it. */
async function shortly(awaited: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ALL_NODES_MS);
  });
  await Promise.race([awaited, late]);
  clearTimeout(timer);
}

function once(tell: (error: unknown) => void): (error: unknown) => void {
  let told = false;
  return (error) => {
    if (told) return;
    told = true;
    tell(error);
  };
}
