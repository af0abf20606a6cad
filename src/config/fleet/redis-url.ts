/**
 * The URL of a Redis or Valkey: one server, a Cluster, or the master that Sentinels watch over, with or without TLS. Owns
 * the notation; connecting belongs to the shared table.
 */

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Access {
  readonly tls: boolean;
  /** Null: the server's default user. */
  readonly username: string | null;
  /** Null: no AUTH. */
  readonly password: string | null;
}

export type RedisUrl =
  | ({ readonly kind: 'single'; readonly server: Endpoint; readonly database: number } & Access)
  /** `seeds`: nodes from which the others are learnt; never empty. */
  | ({ readonly kind: 'cluster'; readonly seeds: readonly Endpoint[] } & Access)
  /** User and password are the servers'; TLS is that of the Sentinels too. `sentinels` is never empty. */
  | ({
      readonly kind: 'sentinel';
      readonly sentinels: readonly Endpoint[];
      readonly sentinelPassword: string | null;
      readonly master: string;
      readonly database: number;
    } & Access);

const shape = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)((?:\/[^/?#]*)*)(?:\?([^#]*))?$/;
const defaultPorts = { single: 6379, cluster: 6379, sentinel: 26_379 } as const;

/** The servers that a text names; null where it names none. */
export function parseRedisUrl(text: string): RedisUrl | null {
  const match = shape.exec(text);
  if (match === null) return null;
  const [, tls, form = 'single', credentials, hosts = '', path = '', query] = match;
  const kind = form === 'sentinel' || form === 'cluster' ? form : 'single';
  const access = parseAccess(credentials);
  const endpoints = parseEndpoints(hosts, defaultPorts[kind]);
  const steps = path.split('/').filter((step) => step !== '');
  if (access === null || endpoints === null || (query !== undefined && kind !== 'sentinel')) return null;
  const common = { ...access, tls: tls === 's' };
  const [first] = endpoints;
  if (kind === 'cluster') return steps.length === 0 ? { kind, seeds: endpoints, ...common } : null;
  const database = parseDatabase(steps[kind === 'single' ? 0 : 1]);
  if (database === null || first === undefined) return null;
  if (kind === 'single') {
    return steps.length <= 1 && endpoints.length === 1 ? { kind, server: first, database, ...common } : null;
  }
  const master = decode(steps[0] ?? '');
  const sentinelPassword = parseQuery(query);
  if (master === null || master === '' || steps.length > 2 || sentinelPassword === undefined) return null;
  return { kind, sentinels: endpoints, sentinelPassword, master, database, ...common };
}

/** The notation that `parseRedisUrl` reads, with every password redacted. */
export function formatRedisUrl(url: RedisUrl): string {
  const form = url.kind === 'single' ? '' : `+${url.kind}`;
  const endpoints = url.kind === 'single' ? [url.server] : url.kind === 'cluster' ? url.seeds : url.sentinels;
  const user = encodeURIComponent(url.username ?? '');
  const credentials = url.password === null ? '' : `${user}:<redacted>@`;
  const path = url.kind === 'sentinel' ? `/${encodeURIComponent(url.master)}` : '';
  const database = url.kind === 'cluster' || url.database === 0 ? '' : `/${url.database}`;
  const query = url.kind === 'sentinel' && url.sentinelPassword !== null ? '?sentinel_password=<redacted>' : '';
  const hosts = endpoints.map(formatEndpoint).join(',');
  return `redis${url.tls ? 's' : ''}${form}://${credentials}${hosts}${path}${database}${query}`;
}

export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseAccess(credentials: string | undefined): Pick<Access, 'username' | 'password'> | null {
  if (credentials === undefined) return { username: null, password: null };
  const colon = credentials.indexOf(':');
  const username = decode(colon === -1 ? credentials : credentials.slice(0, colon));
  const password = decode(colon === -1 ? '' : credentials.slice(colon + 1));
  // A user without a password would be sent as nobody at all.
  if (username === null || password === null || password === '') return null;
  return { username: username === '' ? null : username, password };
}

function parseEndpoints(hosts: string, defaultPort: number): Endpoint[] | null {
  const endpoints = hosts.split(',').map((text) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
    const host = match?.[1] ?? match?.[2];
    const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
    return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
  });
  const named = endpoints.filter((endpoint) => endpoint !== null);
  return named.length === endpoints.length ? named : null;
}

function parseDatabase(step: string | undefined): number | null {
  if (step === undefined) return 0;
  return /^\d{1,5}$/.test(step) ? Number(step) : null;
}

/** Undefined: not one that there is. */
function parseQuery(query: string | undefined): string | null | undefined {
  if (query === undefined) return null;
  const match = /^sentinel_password=([^&]+)$/.exec(query);
  return match === null ? undefined : (decode(match[1] ?? '') ?? undefined);
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
