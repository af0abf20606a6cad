/** Loads of streams: crowds that share one flight, and streams that share nothing. */
import type { Order } from '../client/orders.ts';
import type { TargetName } from '../measure/targets.ts';
import {
  chunksPerSecond,
  cpuPerChunk,
  failed,
  failedOpen,
  firstByteP50,
  firstByteP99,
  type Figure,
  type Load,
  ours,
  type Start,
  totalP50,
  upstreamCalls,
} from './load.ts';

const crowdFigures: readonly Figure[] = [
  upstreamCalls,
  firstByteP50,
  firstByteP99,
  { title: 'CPU of proxy, s', digits: 2, of: ({ cpu }) => cpu.proxy },
  { title: 'CPU of processor, s', digits: 2, of: ({ cpu }) => cpu.processor },
  failed,
  failedOpen,
];

/** How long the shared answer takes, in tokens and ms between them: longer than the crowd takes to arrive, from cold too. */
function paceFor(callers: number): { tokens: number; gapMs: number } {
  if (callers > 1000) return { tokens: 40, gapMs: 200 };
  return callers > 500 ? { tokens: 40, gapMs: 100 } : { tokens: 50, gapMs: 10 };
}

/** Identical streams at once. Cold: from a processor that has just been started. */
export function burstOf(callers: number, options: { start?: 'cold'; times?: number } = {}): Load {
  const { tokens, gapMs } = paceFor(callers);
  const floors: readonly TargetName[] =
    callers > 500 || options.start === 'cold' ? [] : ['Envoy alone', 'no-op immediate', 'Varnish'];
  const isCold = options.start === 'cold';
  const cold = isCold ? ' (cold)' : '';
  return {
    name: `burst ${callers}${cold}`,
    title: `A burst of ${callers.toLocaleString('en-US')} identical streams${isCold ? ', from a cold start' : ''}`,
    description: `All at once on connections that are open, ${tokens} tokens ${gapMs} ms apart.${isCold ? ' The processor has just been started.' : ''}`,
    targets: [...floors, ...ours],
    order: (url, label) => ({ kind: 'burst', url, label, callers, tokens, gapMs }),
    figures: crowdFigures,
    ...options,
  };
}

/** The first bytes of a small crowd, for the plot. */
export function crowdOf(callers: number): Load {
  const load = burstOf(callers, { times: 1 });
  return { ...load, name: `crowd ${callers}`, targets: ['no-op immediate', ...ours, 'Varnish'] };
}

export function streamsOf(waves: number): Load {
  const [connections, tokens] = [16, 2000];
  return {
    name: 'streams',
    title: `${connections} unique streams of ${tokens.toLocaleString('en-US')} tokens`,
    description: `At once and without delay between tokens, ${waves} times over.`,
    targets: ['Envoy alone', 'no-op attached', 'no-op on grpc-js', 'no-op on node:http2', ...ours, 'Varnish'],
    order: (url, label) => ({ kind: 'streams', url, label, connections, waves, tokens }),
    figures: [chunksPerSecond, totalP50, ...cpuPerChunk, failed],
  };
}

export function gapsOf(followers: number, tokens: number): Load {
  return {
    name: 'gaps',
    title: `One flight of ${followers} followers`,
    description: `One stream of 100 tokens/s for ${tokens / 100} s, and ${followers} callers with the same prompt that come 200 ms after it; a gap is the time between two tokens of a caller.`,
    targets: ['no-op immediate', ...ours, 'Varnish'],
    order: (url, label) => ({ kind: 'gaps', url, label, followers, tokens, gapMs: 10 }),
    figures: [
      upstreamCalls,
      { title: 'gap p99 of the first caller, ms', digits: 1, of: ({ outcome }) => outcome.firstCallerGapP99Ms },
      { title: 'gap p99 of the followers, ms', digits: 1, of: ({ outcome }) => outcome.laterCallersGapP99Ms },
      ...cpuPerChunk,
      failed,
      failedOpen,
    ],
  };
}

/** Callers that wait for a first byte: what each of them holds in the processor. */
export function waitingOf(callers: number, start: Start): Load {
  return memoryLoad({
    ...{ name: 'waiting', start },
    title: `Memory of ${callers.toLocaleString('en-US')} callers that wait`,
    description: 'One flight whose first byte comes after 4 s.',
    order: (url, label) => ({ kind: 'burst', url, label, callers, tokens: 4, gapMs: 0, firstMs: 4_000 }),
    perCaller: callers,
  });
}

/** One large answer for a crowd. */
export function largeOf(callers: number, start: Start): Load {
  return memoryLoad({
    ...{ name: 'large', start },
    title: `An answer of 1 MiB for ${callers.toLocaleString('en-US')} callers`,
    description: '6,200 tokens of 170 bytes without delay, 2 s after the burst.',
    order: (url, label) => ({ kind: 'burst', url, label, callers, tokens: 6_200, gapMs: 0, firstMs: 2_000 }),
    perCaller: null,
  });
}

const starts: Readonly<Record<Start, { readonly suffix: string; readonly title: string; readonly text: string }>> = {
  cold: { suffix: ' (cold)', title: ', from a cold start', text: 'The processor has just been started.' },
  warmed: {
    suffix: '',
    title: '',
    text: 'The processor has served some thousand single requests and a burst of 100 since its start.',
  },
};

function memoryLoad(given: {
  name: string;
  start: Start;
  title: string;
  description: string;
  order: (url: string, label: string) => Order;
  perCaller: number | null;
}): Load {
  const { perCaller, start, order } = given;
  const { suffix, title, text } = starts[start];
  const growth: Figure =
    perCaller === null
      ? { title: 'growth of the processor, MB', digits: 1, of: (run) => run.processorGrowth / 1e6 }
      : {
          title: 'growth of the processor, kB per caller',
          digits: 1,
          of: (run) => run.processorGrowth / 1e3 / perCaller,
        };
  return {
    name: `${given.name}${suffix}`,
    title: `${given.title}${title}`,
    description: `${given.description} ${text} The memory is what the process grew by, garbage included.`,
    targets: ours,
    order,
    figures: [growth, upstreamCalls, failed, failedOpen],
    needsGo: true,
    start,
    times: 1,
  };
}
