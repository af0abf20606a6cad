/**
 * What is measured: each load, its size, and the figures that are read from a run of it. Carrying a load out is left to the
 * client, measuring it to run.ts.
 */
import type { Order } from '../client/orders.ts';
import type { Run } from './run.ts';

export type LoadName = Order['kind'];

/** One line of a table: how it is called and read from a run; undefined or NaN where a run has no such figure. */
export type Figure = {
  readonly title: string;
  readonly digits: number;
  readonly of: (run: Run) => number | undefined;
  /** Of a difference there is no ratio worth a line. */
  readonly isDifference?: true;
};

export type Load = {
  readonly name: LoadName;
  readonly title: string;
  /** In one sentence, sizes included. */
  readonly description: string;
  /** What the client is to do, at a URL, with prompts of this label. */
  readonly order: (url: string, label: string) => Order;
  readonly figures: readonly Figure[];
};

/** How large the loads are. */
export type Sizes = {
  readonly callers: number;
  readonly burstTokens: number;
  readonly burstGapMs: number;
  readonly connections: number;
  readonly requestsMs: number;
  readonly streamTokens: number;
  readonly waves: number;
  readonly followers: number;
  readonly gapTokens: number;
};

/** An answer of 4 s: longer than a thousand callers take to arrive. */
const burst = { callers: 1000, burstTokens: 40, burstGapMs: 100 };
const streams = { connections: 16, streamTokens: 2000 };

export const fullSizes: Sizes = { ...burst, ...streams, requestsMs: 4000, waves: 8, followers: 20, gapTokens: 400 };
export const quickSizes: Sizes = { ...burst, ...streams, requestsMs: 1500, waves: 2, followers: 20, gapTokens: 150 };
/** Enough to have every program's code compiled and its connections made. */
export const warmUpSizes: Sizes = {
  ...{ callers: 100, burstTokens: 5, burstGapMs: 100 },
  ...{ connections: 16, streamTokens: 500, requestsMs: 1000, waves: 1 },
  ...{ followers: 5, gapTokens: 20 },
};

const GAP_MS = 10;
const SMALL_TOKENS = 10;

/** The loads in the order of the report. */
export function loadsOf(sizes: Sizes): readonly Load[] {
  return [burstOf(sizes), requestsOf(sizes), streamsOf(sizes), gapsOf(sizes)];
}

function burstOf({ callers, burstTokens: tokens, burstGapMs: gapMs }: Sizes): Load {
  return {
    name: 'burst',
    title: `A burst of ${count(callers)} identical streams`,
    description: `All at once, each on a new connection; the answer has ${tokens} tokens ${gapMs} ms apart, so that it outlasts the arrivals.`,
    order: (url, label) => ({ kind: 'burst', url, label, callers, tokens, gapMs }),
    figures: [
      { title: 'upstream calls', digits: 0, of: ({ upstreamCalls }) => upstreamCalls },
      { title: 'first byte p50, ms', digits: 0, of: ({ outcome }) => outcome.firstByteP50Ms },
      { title: 'first byte p99, ms', digits: 0, of: ({ outcome }) => outcome.firstByteP99Ms },
      { title: 'first start to last end, s', digits: 2, of: ({ outcome }) => outcome.wallMs / 1000 },
      { title: 'CPU of Envoy, s', digits: 2, of: ({ cpu }) => cpu.envoy },
      { title: 'CPU of processor, s', digits: 2, of: ({ cpu }) => cpu.processor },
      failed,
    ],
  };
}

function requestsOf({ connections, requestsMs: durationMs }: Sizes): Load {
  return {
    name: 'requests',
    title: 'Unique small requests',
    description: `A closed loop of ${connections} keep-alive connections for ${durationMs / 1000} s; each request has a prompt of its own, and the answer is JSON of ${SMALL_TOKENS} tokens at once.`,
    order: (url, label) => ({ kind: 'requests', url, label, connections, durationMs, tokens: SMALL_TOKENS }),
    figures: [
      { title: 'requests/s', digits: 0, of: ({ outcome }) => (outcome.calls / outcome.wallMs) * 1000 },
      { title: 'p50, ms', digits: 2, of: ({ outcome }) => outcome.totalP50Ms },
      { title: 'p99, ms', digits: 2, of: ({ outcome }) => outcome.totalP99Ms },
      { title: 'CPU of Envoy, s per 1,000', digits: 3, of: ({ cpu, outcome }) => per(cpu.envoy, outcome.calls / 1000) },
      {
        title: 'CPU of processor, s per 1,000',
        digits: 3,
        of: ({ cpu, outcome }) => per(cpu.processor, outcome.calls / 1000),
      },
      { title: 'CPU of both, s per 1,000', digits: 3, of: ({ cpu, outcome }) => per(both(cpu), outcome.calls / 1000) },
      failed,
    ],
  };
}

function streamsOf({ connections, streamTokens: tokens, waves }: Sizes): Load {
  const millionTokens = ({ outcome }: Run): number => (outcome.calls * tokens) / 1e6;
  return {
    name: 'streams',
    title: `${connections} unique streams of ${count(tokens)} tokens`,
    description: `At once and without delay between tokens, ${waves} times over.`,
    order: (url, label) => ({ kind: 'streams', url, label, connections, waves, tokens }),
    figures: [
      { title: 'tokens/s', digits: 0, of: (run) => (millionTokens(run) / run.outcome.wallMs) * 1e9 },
      {
        title: 'tokens per read of the client',
        digits: 1,
        of: (run) => (millionTokens(run) / run.outcome.reads) * 1e6,
      },
      { title: 'stream p50, ms', digits: 0, of: ({ outcome }) => outcome.totalP50Ms },
      { title: 'CPU of Envoy, s per million', digits: 1, of: (run) => per(run.cpu.envoy, millionTokens(run)) },
      { title: 'CPU of processor, s per million', digits: 1, of: (run) => per(run.cpu.processor, millionTokens(run)) },
      { title: 'CPU of both, s per million', digits: 1, of: (run) => per(both(run.cpu), millionTokens(run)) },
      failed,
    ],
  };
}

function gapsOf({ followers, gapTokens: tokens }: Sizes): Load {
  return {
    name: 'gaps',
    title: 'Time between two tokens, followers against their leader',
    description: `One stream of ${1000 / GAP_MS} tokens/s for ${(tokens * GAP_MS) / 1000} s, and ${followers} callers with the same prompt that come after its first byte; a gap is the time between two reads of a caller.`,
    order: (url, label) => ({ kind: 'gaps', url, label, followers, tokens, gapMs: GAP_MS }),
    figures: [
      { title: 'upstream calls', digits: 0, of: ({ upstreamCalls }) => upstreamCalls },
      { title: 'gap p99 of the first caller, ms', digits: 1, of: ({ outcome }) => outcome.firstCallerGapP99Ms },
      { title: 'gap p99 of the later callers, ms', digits: 1, of: ({ outcome }) => outcome.laterCallersGapP99Ms },
      {
        title: 'later minus first, ms',
        digits: 1,
        isDifference: true,
        of: ({ outcome }) => (outcome.laterCallersGapP99Ms ?? Number.NaN) - (outcome.firstCallerGapP99Ms ?? Number.NaN),
      },
      failed,
    ],
  };
}

const failed: Figure = { title: 'calls not answered whole', digits: 0, of: ({ outcome }) => outcome.failed };

function both({ envoy, processor }: Run['cpu']): number {
  return envoy + (processor ?? 0);
}

function per(seconds: number | undefined, units: number): number | undefined {
  return seconds === undefined ? undefined : seconds / units;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
