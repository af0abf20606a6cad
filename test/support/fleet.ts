/**
 * Instances of a fleet, each with its own connections to a real Redis, and what each was told of its flights. A fake only
 * of what is above: the flight table of each processor.
 */
import process from 'node:process';
import { describe } from 'vitest';
import { findRedis } from '../../harness/redis.ts';
import type { FlightId } from '../../src/coalesce/flight/flight.ts';
import type { Key } from '../../src/coalesce/key/key.ts';
import type { RedisConfig } from '../../src/config/fleet/redis.ts';
import { parseRedisUrl } from '../../src/config/fleet/redis-url.ts';
import type { Loss } from '../../src/redis/reader.ts';
import { connectSharedFlights } from '../../src/redis/fleet-table.ts';
import type { SharedFlightEvents, SharedFlights } from '../../src/redis/shared-flights.ts';
import { until } from './condition.ts';

/** Without a server these are skipped, but for CI. */
export const withRedis: typeof describe = describe.skipIf(
  findRedis() === undefined && process.env['CI'] === undefined,
) as typeof describe;

const secret: Buffer = Buffer.alloc(32, 7);

/** What one flight was told, in order. */
export type Told = {
  readonly words: string[];
  readonly bytes: Buffer[];
  head: Parameters<SharedFlightEvents['began']>[1] | null;
  trailers: unknown;
  loss: Loss | null;
};

export type Instance = SharedFlights & {
  readonly counts: Map<string, number>;
  readonly log: string[];
  /** The longest claim so far: from the call to the answer. */
  longestClaimMs(): number;
  told(flight: FlightId): Told;
  /** Waits until the flight was told this word. */
  hears(flight: FlightId, word: string, timeoutMs?: number): Promise<Told>;
  /** Claims, and returns the word that answered. */
  claims(flight: FlightId, key: Key): Promise<string>;
  text(flight: FlightId): string;
  isUp(): boolean;
};

export type InstanceOptions = Partial<Omit<RedisConfig, 'url'>> & {
  readonly secret?: Buffer;
  readonly maxReplayBytes?: number;
  readonly maxUpstream?: number;
  /** By how much its clock is ahead. */
  readonly clockAheadMs?: number;
};

let flights = 0;
let keys = 0;

export function aFlight(): FlightId {
  flights += 1;
  return flights.toString(16).padStart(16, '0') as FlightId;
}

export function aKey(): Key {
  keys += 1;
  return keys.toString(16).padStart(64, '0') as Key;
}

export const head = {
  status: '200',
  headers: [['content-type', 'text/event-stream']],
  contentLength: null,
  announcesTrailers: false,
  endOfStream: false,
} as const;

export const closesLate = { closesAfterMs: 60_000 };

/** Resolves when it is connected and trusted; `start` does not wait. */
export async function startInstance(url: string, options: InstanceOptions = {}): Promise<Instance> {
  const instance = beginInstance(url, options);
  await until('Redis is up', () => instance.isUp());
  return instance;
}

export function beginInstance(url: string, options: InstanceOptions = {}): Instance {
  const told = new Map<FlightId, Told>();
  const of = (flight: FlightId): Told => {
    const known = told.get(flight) ?? { words: [], bytes: [], head: null, trailers: undefined, loss: null };
    told.set(flight, known);
    return known;
  };
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const log: string[] = [];
  let isUp = false;
  const asked = new Map<FlightId, number>();
  let longestClaimMs = 0;
  const say = (flight: FlightId, word: string): Told => {
    const at = asked.get(flight);
    asked.delete(flight);
    if (at !== undefined) longestClaimMs = Math.max(longestClaimMs, performance.now() - at);
    of(flight).words.push(word);
    return of(flight);
  };
  const shared = connectSharedFlights({
    redis: configOf(url, options),
    secret: () => options.secret ?? secret,
    limits: () => ({ maxReplayBytes: options.maxReplayBytes ?? 8 * 2 ** 20, maxUpstream: options.maxUpstream ?? 0 }),
    wallClock: () => Date.now() + (options.clockAheadMs ?? 0),
    log: { redisDown: (cause) => log.push(`down: ${String(cause)}`), redisUp: () => log.push('up') },
    metrics: {
      setRedisUp: (up) => {
        isUp = up;
      },
      countRedisClaim: (answer) => count(answer),
      observeRedisClaim: () => count('observed'),
      countFencedWrite: () => count('fenced'),
    },
    events: {
      led: (flight) => say(flight, 'led'),
      followed: (flight) => say(flight, 'followed'),
      stoodAlone: (flight) => say(flight, 'alone'),
      began: (flight, began) => {
        say(flight, 'began').head = began;
      },
      grew: (flight, bytes) => of(flight).bytes.push(Buffer.from(bytes)),
      ended: (flight, trailers) => {
        say(flight, 'ended').trailers = trailers;
      },
      lost: (flight, loss) => {
        say(flight, 'lost').loss = loss;
      },
      slotGranted: (flight) => say(flight, 'granted'),
    },
  });
  const hears = async (flight: FlightId, word: string, timeoutMs?: number): Promise<Told> => {
    await until(`${word} for ${flight}`, () => of(flight).words.includes(word), timeoutMs);
    return of(flight);
  };
  return {
    ...shared,
    counts,
    log,
    longestClaimMs: () => longestClaimMs,
    told: of,
    hears,
    isUp: () => isUp,
    text: (flight) => Buffer.concat(of(flight).bytes).toString(),
    claims: async (flight, key) => {
      const before = of(flight).words.length;
      asked.set(flight, performance.now());
      shared.claim(flight, key);
      await until(`an answer to the claim of ${flight}`, () => of(flight).words.length > before);
      return of(flight).words[before] ?? '';
    },
  };
}

function configOf(text: string, options: InstanceOptions): RedisConfig {
  const url = parseRedisUrl(text);
  if (url === null) throw new Error(`not the URL of a Redis: ${text}`);
  return {
    url,
    prefix: options.prefix ?? 'test:',
    leaseMs: options.leaseMs ?? 5_000,
    // Not 5 ms: the machine that runs the tests has other things to do.
    budgetMs: options.budgetMs ?? 2_000,
    encrypt: options.encrypt ?? true,
  };
}
