/** What the model asks for and what its upstream answers, byte by byte; the policy under which it does. */

import type { FlightId } from '../../src/coalesce/flight/flight.ts';
import type { RequestHead } from '../../src/coalesce/request/head.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';
import { sampleHead, samplePolicy } from './request-samples.ts';

/** What a schedule's policy turns on. */
export interface Options {
  readonly retries: boolean;
  readonly negativeCache: boolean;
  readonly keepAlive: boolean;
}

export function policyOf({ retries, negativeCache, keepAlive }: Options): Policy {
  return samplePolicy({
    maxWaiters: 4,
    lateJoin: { maxEvents: 1000, maxBytes: 40, maxAgeMs: 3_000 },
    deadlines: { firstByteMs: 4_000, idleMs: 2_000, totalMs: 9_000, waitMs: 6_000, keepAliveMs: keepAlive ? 700 : 0 },
    retry: { maxAttempts: retries ? 3 : 1, on: ['connect_failure', '503'], backoffMs: 200 },
    negativeCache: { ttlMs: negativeCache ? 800 : 0, statuses: [400], maxEntries: 2 },
  });
}

const heads = new Map<string, RequestHead>();

/** Whoever calls upstream is told by it what was asked for. */
export function headFor(question: string): RequestHead {
  const head = heads.get(question) ?? sampleHead({ path: question });
  heads.set(question, head);
  return head;
}

/** The answer's text from a place on: different for each flight, and nowhere the same twice. */
export function textOf(flight: FlightId, from: number, length: number): string {
  let text = '';
  for (let line = Math.floor(from / 16); text.length < (from % 16) + length; line += 1)
    text += `${flight}:${line}`.padEnd(14) + '\n\n';
  return text.slice(from % 16, (from % 16) + length);
}
