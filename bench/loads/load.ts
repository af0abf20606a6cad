/** What a load is: an order for the client, the targets that it visits, and the figures that are read from its runs. */
import type { Order } from '../client/orders.ts';
import type { Run } from '../measure/run.ts';
import type { TargetName } from '../measure/targets.ts';

/** One line of a table: how it is called and read from a run; undefined or NaN where a run has no such figure. */
export type Figure = {
  readonly title: string;
  readonly digits: number;
  readonly of: (run: Run) => number | undefined;
};

export type Start = 'cold' | 'warmed';

export type Load = {
  readonly name: string;
  readonly title: string;
  /** In a sentence or two, sizes included. */
  readonly description: string;
  readonly targets: readonly TargetName[];
  /** What the client is to do, at a URL, with prompts of this label. */
  readonly order: (url: string, label: string) => Order;
  readonly figures: readonly Figure[];
  /**
   * What kind of processor each run meets: one that has just been started, or one that has served single requests and a small
   * crowd since its start. Without it, one that has served all earlier loads.
   */
  readonly start?: Start;
  /** Once is enough: `times` of the rounds, at most. */
  readonly times?: number;
  /** Node's client cannot carry it out. */
  readonly needsGo?: true;
};

/** All runs of a measurement: by load, then by target, in the order of the rounds. */
export type Runs = ReadonlyMap<string, ReadonlyMap<TargetName, readonly Run[]>>;

export const ours: readonly TargetName[] = ['ours attached', 'ours detached'];

/** Figures that several loads share. */
export const failed: Figure = { title: 'calls not answered whole', digits: 0, of: ({ outcome }) => outcome.failed };
export const failedOpen: Figure = { title: 'failed open', digits: 0, of: (run) => run.failedOpen };
export const upstreamCalls: Figure = {
  title: 'upstream calls',
  digits: 0,
  of: ({ outcome }) => outcome.upstreamCalls,
};
export const requestsPerSecond: Figure = {
  title: 'requests/s',
  digits: 0,
  of: ({ outcome }) => (outcome.calls / outcome.wallMs) * 1000,
};
export const chunksPerSecond: Figure = {
  title: 'tokens/s',
  digits: 0,
  of: ({ outcome }) => (outcome.chunks / outcome.wallMs) * 1000,
};
export const firstByteP50: Figure = {
  title: 'first byte p50, ms',
  digits: 1,
  of: ({ outcome }) => outcome.firstByteP50Ms,
};
export const firstByteP99: Figure = {
  title: 'first byte p99, ms',
  digits: 1,
  of: ({ outcome }) => outcome.firstByteP99Ms,
};
export const totalP50: Figure = { title: 'p50, ms', digits: 2, of: ({ outcome }) => outcome.totalP50Ms };
export const totalP99: Figure = { title: 'p99, ms', digits: 2, of: ({ outcome }) => outcome.totalP99Ms };

/** CPU of proxy and processor for a thousand requests, in seconds. */
export const cpuPerThousand: readonly Figure[] = [
  { title: 'CPU of proxy, s per 1,000', digits: 3, of: (run) => perThousand(run, run.cpu.proxy) },
  { title: 'CPU of processor, s per 1,000', digits: 3, of: (run) => perThousand(run, run.cpu.processor) },
  { title: 'CPU of both, s per 1,000', digits: 3, of: (run) => perThousand(run, bothCpu(run)) },
];

/** CPU of proxy and processor for each token that a caller got, in µs. */
export const cpuPerChunk: readonly Figure[] = [
  { title: 'CPU of proxy, µs per token', digits: 1, of: (run) => perChunk(run, run.cpu.proxy) },
  { title: 'CPU of processor, µs per token', digits: 1, of: (run) => perChunk(run, run.cpu.processor) },
];

function bothCpu({ cpu }: Run): number {
  return cpu.proxy + (cpu.processor ?? 0);
}

function perThousand({ outcome }: Run, seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : (seconds / outcome.calls) * 1000;
}

function perChunk({ outcome }: Run, seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : (seconds / outcome.chunks) * 1e6;
}
