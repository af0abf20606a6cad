/** Loads of single requests: what the filters cost where nothing is shared, and where much is. */
import {
  cpuPerThousand,
  failed,
  failedOpen,
  firstByteP50,
  firstByteP99,
  type Load,
  ours,
  requestsPerSecond,
  totalP50,
  totalP99,
  upstreamCalls,
} from './load.ts';

const TOKENS = 16;

const closedFigures = [requestsPerSecond, totalP50, totalP99, ...cpuPerThousand, failed, failedOpen];

export function bypassOf(durationMs: number): Load {
  return {
    name: 'bypass',
    title: 'Requests bypassed by their headers',
    description: `A closed loop of 16 connections for ${durationMs / 1000} s; each request says \`x-coalesce: never\`.`,
    targets: ['Envoy alone', 'no-op headers', ...ours],
    order: (url, label) => ({
      ...{ kind: 'requests', url, label, tokens: TOKENS, isOptedOut: true },
      ...{ connections: 16, durationMs },
    }),
    figures: closedFigures,
  };
}

export function uniqueOf(durationMs: number): Load {
  return {
    name: 'unique',
    title: 'Unique small requests',
    description: `A closed loop of 16 connections for ${durationMs / 1000} s; each request has a prompt of its own of 1 kB, and the answer is JSON of ${TOKENS} tokens at once. There is nothing to share.`,
    targets: ['Envoy alone', 'no-op attached', 'no-op on grpc-js', 'no-op on node:http2', ...ours, 'Varnish'],
    order: (url, label) => ({ kind: 'requests', url, label, tokens: TOKENS, connections: 16, durationMs }),
    figures: closedFigures,
  };
}

export function oneConnectionOf(durationMs: number): Load {
  return {
    name: 'one connection',
    title: 'One request after the other',
    description: `One connection for ${durationMs / 1000} s, unique requests: the latency that is added.`,
    targets: ['direct', 'Envoy alone', 'no-op attached', ...ours, 'Varnish'],
    order: (url, label) => ({ kind: 'requests', url, label, tokens: TOKENS, connections: 1, durationMs }),
    figures: [totalP50, totalP99, requestsPerSecond, ...cpuPerThousand, failed],
  };
}

export function mixedOf(durationMs: number): Load {
  return {
    name: 'mixed',
    title: 'An open loop with duplicates',
    description: `300 requests/s for ${durationMs / 1000} s, five in a row the same; the upstream takes 50 ms to the first of 20 tokens 5 ms apart.`,
    targets: ['direct', 'Envoy alone', 'no-op attached', ...ours, 'Varnish'],
    order: (url, label) => openOrder({ url, label, durationMs, duplicates: 0.8 }),
    figures: [firstByteP50, firstByteP99, upstreamCalls, ...cpuPerThousand, failed, failedOpen],
    needsGo: true,
  };
}

/** The open loop at another share of duplicates, for the plot of the gain. */
export function gainOf(durationMs: number, duplicates: number): Load {
  return {
    name: `gain ${duplicates}`,
    title: `Gain at ${Math.round(duplicates * 100)} % duplicates`,
    description: '',
    targets: ours,
    order: (url, label) => openOrder({ url, label, durationMs, duplicates }),
    figures: [upstreamCalls],
    needsGo: true,
    times: 1,
  };
}

function openOrder(given: {
  url: string;
  label: string;
  durationMs: number;
  duplicates: number;
}): ReturnType<Load['order']> {
  return { kind: 'open', ...given, rate: 300, tokens: 20, firstMs: 50, gapMs: 5, isStream: true };
}

export function decisionsOf(durationMs: number): Load {
  return {
    name: 'decisions',
    title: '500 decisions a second',
    description: `An open loop of 500 unique requests/s for ${durationMs / 1000} s. The event loop’s delay is what Node’s own histogram reads; it reads about 10 ms of a loop that is idle.`,
    targets: ours,
    order: (url, label) => ({
      ...{ kind: 'open', url, label, durationMs, rate: 500, duplicates: 0 },
      ...{ tokens: TOKENS, firstMs: 20, gapMs: 0, isStream: false },
    }),
    figures: [
      { title: 'event-loop delay p99, ms', digits: 1, of: ({ loopDelayP99Ms }) => loopDelayP99Ms },
      totalP50,
      totalP99,
      ...cpuPerThousand,
      failed,
      failedOpen,
    ],
    needsGo: true,
  };
}
