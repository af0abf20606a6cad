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

interface Opening<Opened> {
  readonly opened: Promise<Opened>;
  /** Closes what is open of it. */
  readonly destroy: () => void;
}

/** Within the time; else rejects, as where it goes wrong, with nothing left open. */
async function inTime<Opened>({ opened, destroy }: Opening<Opened>, ms: number, missing: string): Promise<Opened> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${missing} within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([opened, late]);
  } catch (error) {
    destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

type SentinelUrl = RedisUrl & { kind: 'sentinel' };
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
  const opened = Promise.all(all.map((client) => client.connect())).then(() => session);
  return inTime({ opened, destroy: session.destroy }, connectMs, 'not connected');
}

/** TLS names its host by itself where the host is a name. */
function named({ host, port }: Endpoint): { host: string; port: number } {
  return { host, port };
}

/** The master, as the first Sentinel names it that names one which says so itself. */
async function openMaster(url: SentinelUrl, options: SessionOptions): Promise<Session> {
  const failures: string[] = [];
  for (const sentinel of url.sentinels) {
    try {
      return await openMasterOf(sentinel, url, options);
    } catch (error) {
      failures.push(`${formatEndpoint(sentinel)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`no Sentinel knows a master ${url.master} (${failures.join('; ')})`);
}

/** Each step of it takes `connectMs` at most. */
async function openMasterOf(sentinel: Endpoint, url: SentinelUrl, options: SessionOptions): Promise<Session> {
  const { connectMs } = options;
  const found = await askSentinel(sentinel, url, connectMs);
  // What becomes of a session that is not taken is no loss of the one that is.
  const losses = held(options.lost);
  const session = await openServer(found, { ...options, lost: losses.hear });
  const opened = session.send('decisions', '', ['ROLE']);
  const role = await inTime({ opened, destroy: session.destroy }, connectMs, 'no answer to ROLE');
  if (!Array.isArray(role) || String(role[0]) !== 'master') {
    session.destroy();
    throw new Error(`${formatEndpoint(found)} is not the master`);
  }
  losses.release();
  return session;
}

async function askSentinel(sentinel: Endpoint, url: SentinelUrl, connectMs: number): Promise<Endpoint> {
  const base = serverOptions({ ...url, username: null, password: url.sentinelPassword, database: 0 }, connectMs);
  const client = createClient({ ...base, socket: { ...base.socket, ...named(sentinel) } });
  // What goes wrong rejects what is awaited.
  client.on('error', () => undefined);
  const destroy = (): void => client.destroy();
  const opened = client.connect().then((): Promise<unknown> => {
    return client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', url.master]);
  });
  const reply = await inTime({ opened, destroy }, connectMs, 'no answer');
  destroy();
  if (!Array.isArray(reply)) throw new Error('it does not know that name');
  return { host: String(reply[0]), port: Number(reply[1]) };
}

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
  ).then(() => session);
  return inTime({ opened, destroy: session.destroy }, connectMs, 'not connected');
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

/** Passes on nothing until its release, then all. */
function held(tell: (error: unknown) => void): { hear: (error: unknown) => void; release: () => void } {
  const heard: unknown[] = [];
  let isReleased = false;
  return {
    hear: (error) => {
      if (isReleased) tell(error);
      else heard.push(error);
    },
    release: () => {
      isReleased = true;
      heard.forEach(tell);
    },
  };
}
