/**
 * The four loads that the client puts on a target: a burst of identical streams, small requests in a closed loop, unique long
 * streams, and one flight whose followers' gaps are compared with its leader's.
 */
import { Pool } from 'undici';
import { defer } from '../../harness/deferred.ts';
import { percentile } from '../report/statistics.ts';
import { type Call, call, type Prompt } from './call.ts';
import type { Order, Outcome } from './orders.ts';

/** Carries an order out. Connections are its own, and closed at the end. */
export async function carryOut(order: Order): Promise<Outcome> {
  const pool = new Pool(order.url, { connections: connectionsOf(order), pipelining: 1 });
  try {
    switch (order.kind) {
      case 'burst':
        return outcomeOf(await burst(pool, order));
      case 'requests':
        return outcomeOf(await requests(pool, order));
      case 'streams':
        return outcomeOf(await streams(pool, order));
      case 'gaps':
        return gapsOf(await joinLate(pool, order));
      case 'open':
        throw new Error('this client knows no open loop');
    }
  } finally {
    await pool.destroy();
  }
}

type OrderOf<Kind extends Order['kind']> = Extract<Order, { kind: Kind }>;

function connectionsOf(order: Order): number {
  switch (order.kind) {
    case 'burst':
      return order.callers;
    case 'gaps':
      return order.followers + 1;
    case 'requests':
    case 'streams':
      return order.connections;
    case 'open':
      return 1;
  }
}

/** Identical streams, all at once, each on a new connection. */
function burst(pool: Pool, { callers, label, tokens, gapMs }: OrderOf<'burst'>): Promise<Call[]> {
  const prompt = { text: label, isStream: true, tokens, gapMs };
  return Promise.all(Array.from({ length: callers }, () => call(pool, prompt)));
}

/** Unique requests for a small JSON answer; each connection sends its next one when it has the answer. */
async function requests(pool: Pool, order: OrderOf<'requests'>): Promise<Call[]> {
  const { connections, durationMs, label, tokens, isOptedOut = false } = order;
  const until = performance.now() + durationMs;
  const loop = async (connection: number): Promise<Call[]> => {
    const calls: Call[] = [];
    while (performance.now() < until) {
      const text = `${label}, connection ${connection}, request ${calls.length}`;
      calls.push(await call(pool, { text, isStream: false, tokens, gapMs: 0, isOptedOut }));
    }
    return calls;
  };
  const all = await Promise.all(Array.from({ length: connections }, (_, connection) => loop(connection)));
  return all.flat();
}

/** Unique streams without delay, one after the other on each connection. */
async function streams(pool: Pool, { connections, waves, label, tokens }: OrderOf<'streams'>): Promise<Call[]> {
  const loop = async (connection: number): Promise<Call[]> => {
    const calls: Call[] = [];
    for (let wave = 0; wave < waves; wave += 1) {
      const text = `${label}, connection ${connection}, wave ${wave}`;
      calls.push(await call(pool, { text, isStream: true, tokens, gapMs: 0 }));
    }
    return calls;
  };
  const all = await Promise.all(Array.from({ length: connections }, (_, connection) => loop(connection)));
  return all.flat();
}

/** One stream, and others of the same prompt that begin when its first byte is there. The first call comes first. */
async function joinLate(pool: Pool, { followers, label, tokens, gapMs }: OrderOf<'gaps'>): Promise<Call[]> {
  const prompt: Prompt = { text: label, isStream: true, tokens, gapMs };
  const firstByte = defer<void>();
  const first = call(pool, prompt, () => firstByte.resolve());
  await firstByte.promise;
  return Promise.all([first, ...Array.from({ length: followers }, () => call(pool, prompt))]);
}

function gapsOf(calls: readonly Call[]): Outcome {
  const [first, ...later] = calls;
  return {
    ...outcomeOf(calls),
    firstCallerGapP99Ms: percentile(first === undefined ? [] : gapsBetween(first.readsAtMs), 0.99),
    laterCallersGapP99Ms: percentile(
      later.flatMap(({ readsAtMs }) => gapsBetween(readsAtMs)),
      0.99,
    ),
  };
}

function gapsBetween(timesMs: readonly number[]): number[] {
  return timesMs.slice(1).map((atMs, index) => atMs - (timesMs[index] ?? atMs));
}

function outcomeOf(calls: readonly Call[]): Outcome {
  const whole = calls.filter(({ isWhole }) => isWhole);
  const firstBytes = whole.map(({ readsAtMs, startedAtMs, endedAtMs }) => (readsAtMs[0] ?? endedAtMs) - startedAtMs);
  const totals = whole.map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs);
  const startedAtMs = calls.reduce((least, each) => Math.min(least, each.startedAtMs), Number.POSITIVE_INFINITY);
  const endedAtMs = calls.reduce((most, each) => Math.max(most, each.endedAtMs), 0);
  return {
    calls: calls.length,
    failed: calls.length - whole.length,
    // The upstream counts them, in another process.
    upstreamCalls: 0,
    chunks: whole.reduce((sum, { readsAtMs }) => sum + readsAtMs.length, 0),
    reads: calls.reduce((sum, { readsAtMs }) => sum + readsAtMs.length, 0),
    wallMs: endedAtMs - startedAtMs,
    firstByteP50Ms: percentile(firstBytes, 0.5),
    firstByteP99Ms: percentile(firstBytes, 0.99),
    totalP50Ms: percentile(totals, 0.5),
    totalP99Ms: percentile(totals, 0.99),
    firstCallerGapP99Ms: undefined,
    laterCallersGapP99Ms: undefined,
  };
}
