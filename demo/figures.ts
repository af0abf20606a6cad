/**
 * What is counted of the burst and what it should come to. Upstream calls are counted at the mock LLM from its own times,
 * outputs and roles from what the callers received; nothing is taken from the coalescer's word.
 */
import { createHash } from 'node:crypto';
import type { MockCall } from '../harness/mock-llm.ts';
import { type Answered, isWhole, roleOf, textOf } from './answers.ts';

/** As printed in the last line. */
export type BurstFigures = {
  readonly requests: number;
  readonly distinct: number;
  readonly max_upstream: number;
  readonly upstream_calls: number;
  readonly peak_upstream: number;
  readonly coalesced: number;
  readonly waves: number;
  readonly distinct_outputs: number;
  /** From the first request sent to the last answer's end. */
  readonly wall_seconds: number;
  /** Callers without the whole answer to their own prompt. */
  readonly failed: number;
};

/** When a call began and ended, in milliseconds of one clock; undefined: not yet. */
export type CallTimes = Pick<MockCall, 'startedAtMs' | 'endedAtMs'>;

/** Counts a burst that is over; `calls` are the upstream calls that it led to. */
export function countBurst(
  answers: readonly Answered[],
  calls: readonly MockCall[],
  maxUpstream: number,
): BurstFigures {
  const exchanges = answers.map(({ exchange }) => exchange);
  const wallMs =
    Math.max(...exchanges.map(({ endedAtMs }) => endedAtMs ?? Infinity)) -
    Math.min(...exchanges.map(({ startedAtMs }) => startedAtMs));
  return {
    requests: answers.length,
    distinct: new Set(answers.map(({ prompt }) => prompt.text)).size,
    max_upstream: maxUpstream,
    upstream_calls: calls.length,
    peak_upstream: peakOf(calls),
    coalesced: exchanges.filter((exchange) => roleOf(exchange) === 'follower').length,
    waves: countWaves(calls),
    distinct_outputs: new Set(exchanges.map(({ body }) => digest(textOf(body)))).size,
    wall_seconds: Math.round(wallMs) / 1000,
    failed: answers.filter((answer) => !isWhole(answer, calls)).length,
  };
}

/** What the burst should come to: one call per prompt, as many at once as allowed, in as few waves as that makes. */
export function expectedBurst({ requests, distinct, max_upstream }: BurstFigures): Partial<BurstFigures> {
  return {
    upstream_calls: distinct,
    peak_upstream: Math.min(max_upstream, distinct),
    coalesced: requests - distinct,
    waves: Math.ceil(distinct / max_upstream),
    distinct_outputs: distinct,
    failed: 0,
  };
}

/** A wave is a group of calls that begin before any of the group has ended; the next one that begins opens a new wave. */
export function countWaves(calls: readonly CallTimes[]): number {
  let waves = 0;
  let firstEndMs = -Infinity;
  for (const { startedAtMs, endedAtMs = Infinity } of calls.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    const opens = startedAtMs >= firstEndMs;
    if (opens) waves += 1;
    firstEndMs = opens ? endedAtMs : Math.min(firstEndMs, endedAtMs);
  }
  return waves;
}

/** The most calls that were under way at once. */
export function peakOf(calls: readonly CallTimes[]): number {
  const underWayAt = (atMs: number): number =>
    calls.filter(({ startedAtMs, endedAtMs = Infinity }) => startedAtMs <= atMs && endedAtMs > atMs).length;
  return Math.max(0, ...calls.map(({ startedAtMs }) => underWayAt(startedAtMs)));
}

/** A sentence for each figure that is not as expected. */
export function differences(counted: object, expected: object): string[] {
  const found = new Map(Object.entries(counted));
  return Object.entries(expected)
    .filter(([name, value]) => found.get(name) !== value)
    .map(([name, value]) => `${name} is ${String(found.get(name))}, expected ${String(value)}`);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
