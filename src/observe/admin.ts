/**
 * The admin listener: what an operator, a probe or Prometheus may read over HTTP. Reads only, changes nothing; shows no
 * prompt and no whole key. Where its pages come from is the caller's.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { formatAddress } from '../config/values/address.ts';
import type { Address } from '../config/values/address.ts';
import type { MetricsPage } from './metrics.ts';
import { livePage, livePageHeaders } from './page/document.ts';
import { removeStaleSocket } from './stale-socket.ts';

/** `GET /flights`. */
export interface FlightsPage {
  readonly flights: readonly FlightRow[];
  readonly totals: {
    readonly flights: number;
    readonly waiters: number;
    readonly replay_bytes: number;
    readonly queue: number;
    readonly streams: number;
  };
}

export interface FlightRow {
  readonly id: string;
  /** Cut to 8 hex digits. */
  readonly key8: string;
  readonly leg: 'attached' | 'detached';
  readonly phase: string;
  /** Whether it leads the fleet's flight, follows another instance's, or is this process's own. */
  readonly fleet: 'leads' | 'follows' | 'apart';
  readonly age_ms: number;
  readonly waiters: number;
  readonly bytes: number;
  readonly model: string | null;
  readonly policy: string;
}

export interface AdminSources {
  readonly flights: () => FlightsPage;
  /** True, or why no new traffic should come. */
  readonly ready: () => true | string;
  /** `accept`: of the request's header. */
  readonly metrics: (accept: string) => Promise<MetricsPage>;
}

export interface AdminOptions {
  readonly address: Address;
  /** `probes`: only `/healthz`, `/readyz` and `/metrics`. */
  readonly pages: 'all' | 'probes';
  readonly sources: AdminSources;
}

export interface Admin {
  /** As bound: `127.0.0.1:9003` with the real port, or `unix:/path`. */
  readonly address: string;
  /** Idle connections are cut at once, busy ones after half a second. */
  readonly close: () => Promise<void>;
}

interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type PageMaker = (sources: AdminSources, accept: string) => Page | Promise<Page>;

/** A closing server no longer times its connections out. */
const closeGraceMs = 500;
const plain = 'text/plain; charset=utf-8';

const probePages: readonly (readonly [path: string, make: PageMaker])[] = [
  ['/healthz', () => text(200, 'ok\n')],
  ['/readyz', readiness],
  [
    '/metrics',
    async ({ metrics }, accept) => ({ status: 200, ...(await metrics(accept)), headers: { vary: 'accept' } }),
  ],
];

const livePageAnswer: Page = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: livePage,
  headers: livePageHeaders,
};

const allPages: typeof probePages = [['/', () => livePageAnswer], ['/flights', flightList], ...probePages];

/** Listens; rejects where the address cannot be had. A socket file that nobody listens on is replaced. */
export async function startAdmin({ address, pages, sources }: AdminOptions): Promise<Admin> {
  const makers = new Map(pages === 'all' ? allPages : probePages);
  const timeouts = { headersTimeout: 5000, requestTimeout: 5000, keepAliveTimeout: 5000 };
  // Node looks for overdue requests only every 30 s, in which slow ones keep all connections from others.
  const server = createServer(
    { ...timeouts, maxHeaderSize: 8192, connectionsCheckingInterval: 1000 },
    (request, response) => {
      void answer({ request, response, makers, sources });
    },
  );
  server.maxConnections = 256;
  server.timeout = 10_000;
  if (address.kind === 'unix') await removeStaleSocket(address.path);
  await listen(server, address);
  return { address: boundAddress(server, address), close: () => close(server) };
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly makers: ReadonlyMap<string, PageMaker>;
  readonly sources: AdminSources;
}

async function answer({ request, response, makers, sources }: Call): Promise<void> {
  // A body means nothing here; unread it would hold its connection up.
  request.resume();
  const page = await pageFor(request, makers, sources);
  const body = Buffer.from(page.body);
  response.writeHead(page.status, {
    'content-type': page.contentType,
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...page.headers,
    ...(page.status === 405 ? { allow: 'GET, HEAD' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function pageFor(
  request: IncomingMessage,
  makers: ReadonlyMap<string, PageMaker>,
  sources: AdminSources,
): Promise<Page> {
  const path = (request.url ?? '').split('?')[0] ?? '';
  const make = makers.get(path);
  if (make === undefined) return text(404, 'not found\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'only GET and HEAD\n');
  try {
    return await make(sources, request.headers.accept ?? '');
  } catch (error) {
    return text(500, `cannot be shown: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

function readiness({ ready }: AdminSources): Page {
  const state = ready();
  return state === true ? text(200, 'ok\n') : text(503, `${state}\n`);
}

function flightList({ flights }: AdminSources): Page {
  const page = flights();
  const rows = page.flights.map(shownRow);
  const body = `${JSON.stringify({ flights: rows, totals: page.totals })}\n`;
  return { status: 200, contentType: 'application/json', body };
}

/** Field by field: what else a row may carry is not for this page. */
function shownRow({ id, key8, leg, phase, fleet, age_ms, waiters, bytes, model, policy }: FlightRow): FlightRow {
  return { id, key8: key8.slice(0, 8), leg, phase, fleet, age_ms, waiters, bytes, model, policy };
}

function text(status: number, body: string): Page {
  return { status, contentType: plain, body };
}

function listen(server: Server, address: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const bound = (): void => {
      server.off('error', reject);
      resolve();
    };
    if (address.kind === 'unix') server.listen(address.path, bound);
    else server.listen(address.port, address.host, bound);
  });
}

function boundAddress(server: Server, wanted: Address): string {
  const bound = server.address();
  if (wanted.kind === 'unix' || bound === null || typeof bound === 'string') return formatAddress(wanted);
  return formatAddress({ kind: 'tcp', host: bound.address, port: bound.port });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    const cut = setTimeout(() => server.closeAllConnections(), closeGraceMs);
    server.close((error) => {
      clearTimeout(cut);
      if (error === undefined) resolve();
      else reject(error);
    });
    server.closeIdleConnections();
  });
}
