/** The targets that are set for the processor, what was measured of each, and whether it is met. Every figure is of the runs. */
import {
  chunksPerSecond,
  cpuPerChunk,
  cpuPerThousand,
  firstByteP50,
  firstByteP99,
  type Figure,
  requestsPerSecond,
  type Runs,
  totalP50,
} from '../loads/load.ts';
import type { TargetName } from '../measure/targets.ts';
import { medianDifference, medianRatio, runsOf } from './pairs.ts';
import type { Ratio } from './ratios.ts';
import { median } from './statistics.ts';

export type Row = {
  readonly work: string;
  readonly target: string;
  readonly measured: string;
  /** Null where it was not measured. */
  readonly isMet: boolean | null;
  /** What the gate compares; null where the row is none. */
  readonly ratio: Ratio | null;
};

/** Size of a body and the least ratio of the key's speed to that of parsing, writing and digesting. */
export type KeySpeed = { readonly size: string; readonly ratio: number };

type Our = 'ours attached' | 'ours detached';
const [attached, detached]: readonly [Our, Our] = ['ours attached', 'ours detached'];

/** In the order in which they were set. */
export function rowsOf(runs: Runs, keySpeeds: readonly KeySpeed[]): readonly Row[] {
  return [...singleRows(runs), ...crowdRows(runs), ...mixedRows(runs), ...keySpeeds.map(keyRow), ...restRows(runs)];
}

function singleRows(runs: Runs): Row[] {
  const rate = (load: string, floor: TargetName): ((our: Our, least: number) => Row) => {
    return (our, least) =>
      ratioRow(runs, { work: `${load}, ${our}: requests/s`, load, figure: requestsPerSecond, our, floor, least });
  };
  const [bypass, unique] = [rate('bypass', 'no-op headers'), rate('unique', 'no-op attached')];
  const added = (our: Our, most: number): Row => {
    const place = { load: 'one connection', figure: totalP50 };
    const measured = medianDifference(runs, place, [our, 'Envoy alone']);
    return limitRow({ work: `one connection, ${our}: p50 added to Envoy alone`, measured, most, unit: 'ms' });
  };
  return [
    ...[bypass(attached, 0.9), bypass(detached, 0.9), unique(attached, 0.9), unique(detached, 0.6)],
    ...[added(attached, 1), added(detached, 1.5)],
  ];
}

function crowdRows(runs: Runs): Row[] {
  const rows: Row[] = [];
  for (const our of [attached, detached]) {
    for (const [figure, name] of [
      [firstByteP50, 'p50'],
      [firstByteP99, 'p99'],
    ] as const) {
      rows.push(
        burstRow(runs, { our, figure, name, isCold: false }),
        burstRow(runs, { our, figure, name, isCold: true }),
      );
    }
  }
  for (const callers of [1000, 4000]) {
    for (const cold of ['', ' (cold)'])
      for (const our of [attached, detached]) rows.push(oneCallRow(runs, `burst ${callers}${cold}`, our));
  }
  const speed = (our: Our, floor: TargetName, least: number): Row =>
    ratioRow(runs, {
      work: `16 × 2,000 tokens, ${our}: tokens/s`,
      load: 'streams',
      figure: chunksPerSecond,
      our,
      floor,
      least,
    });
  rows.push(speed(attached, 'no-op attached', 0.8), speed(detached, 'no-op attached', 0.6));
  rows.push(speed(attached, 'Varnish', 1), speed(detached, 'Varnish', 1));
  return [...rows, ...gapRows(runs)];
}

/** The cold burst is compared with the floor's warm one: a program in Go has no cold start worth the name. */
function burstRow(runs: Runs, given: { our: Our; figure: Figure; name: string; isCold: boolean }): Row {
  const { our, figure, name, isCold } = given;
  const most = isCold ? 4 : 2;
  const floor = median(runsOf(runs, 'burst 200', 'no-op immediate').map((run) => figure.of(run) ?? Number.NaN));
  const load = isCold ? 'burst 200 (cold)' : 'burst 200';
  const value = median(runsOf(runs, load, our).map((run) => (figure.of(run) ?? Number.NaN) / floor));
  const work = `${load}, ${our}: first byte ${name}`;
  return {
    work,
    target: `≤ ${most} × no-op immediate`,
    measured: times(value),
    isMet: verdict(value, value <= most),
    ratio: { name: work, value, better: 'lower' },
  };
}

function oneCallRow(runs: Runs, load: string, our: Our): Row {
  const all = runsOf(runs, load, our);
  const worst = (of: (run: (typeof all)[number]) => number): number => Math.max(...all.map(of));
  const calls = worst(({ outcome }) => outcome.upstreamCalls);
  const [open, failed] = [worst((run) => run.failedOpen), worst(({ outcome }) => outcome.failed)];
  return {
    work: `${load}, ${our}`,
    target: '1 upstream call, none failed open, no error',
    measured: all.length === 0 ? '–' : `${calls} calls, ${open} failed open, ${failed} errors at most`,
    isMet: all.length === 0 ? null : calls === 1 && open === 0 && failed === 0,
    ratio: null,
  };
}

function gapRows(runs: Runs): Row[] {
  const processorCpu = cpuPerChunk[1] ?? chunksPerSecond;
  return [attached, detached].flatMap((our) => {
    const lags = runsOf(runs, 'gaps', our).map(
      ({ outcome }) => (outcome.laterCallersGapP99Ms ?? Number.NaN) - (outcome.firstCallerGapP99Ms ?? Number.NaN),
    );
    const work = `500 followers, ${our}: processor’s CPU per token`;
    return [
      limitRow({ work: `500 followers, ${our}: gap p99 − leader’s`, measured: median(lags), most: 5, unit: 'ms' }),
      atMostRow(runs, { work, load: 'gaps', figure: processorCpu, our, floor: 'no-op immediate', most: 2 }),
    ];
  });
}

function mixedRows(runs: Runs): Row[] {
  const both = cpuPerThousand[2] ?? requestsPerSecond;
  return [attached, detached].flatMap((our) => {
    const against = (figure: Figure): number => medianDifference(runs, { load: 'mixed', figure }, [our, 'direct']);
    const work = `open loop, 80 % duplicates, ${our}`;
    const cpu = {
      work: `${work}: CPU of both`,
      load: 'mixed',
      figure: both,
      our,
      floor: 'no-op attached',
      most: 1.5,
    } as const;
    return [
      limitRow({ work: `${work}: first byte p50 − direct’s`, measured: against(firstByteP50), most: 2, unit: 'ms' }),
      limitRow({ work: `${work}: first byte p99 − direct’s`, measured: against(firstByteP99), most: 10, unit: 'ms' }),
      atMostRow(runs, cpu),
    ];
  });
}

function keyRow({ size, ratio }: KeySpeed): Row {
  const work = `key of a body of ${size}`;
  return {
    work,
    target: '≥ 0.5 × parsing, writing, SHA-256',
    measured: times(ratio),
    isMet: verdict(ratio, ratio >= 0.5),
    ratio: { name: work, value: ratio, better: 'higher' },
  };
}

function restRows(runs: Runs): Row[] {
  const growth = (load: string, our: Our): number => median(runsOf(runs, load, our).map((run) => run.processorGrowth));
  const memory = (our: Our, cold: '' | ' (cold)'): Row[] => {
    const [waiting, large] = [growth(`waiting${cold}`, our), growth(`large${cold}`, our)];
    const works = [`memory of a caller that waits${cold}, ${our}`, `1 MiB for 1,000 callers${cold}, ${our}`] as const;
    return [
      limitRow({ work: works[0], measured: waiting / 1e6, most: 20, unit: 'kB' }),
      limitRow({ work: works[1], measured: large / 1e6, most: 40, unit: 'MB' }),
    ];
  };
  const delay = (our: Our): Row => {
    const delays = runsOf(runs, 'decisions', our).map(({ loopDelayP99Ms }) => loopDelayP99Ms ?? Number.NaN);
    const work = `event-loop delay p99 at 500 decisions/s, ${our}`;
    return limitRow({ work, measured: median(delays), most: 20, unit: 'ms' });
  };
  return [attached, detached].flatMap((our) => [...memory(our, ''), ...memory(our, ' (cold)'), delay(our)]);
}

type Compared = {
  readonly work: string;
  readonly load: string;
  readonly figure: Figure;
  readonly our: Our;
  readonly floor: TargetName;
};

function ratioRow(runs: Runs, { least, ...given }: Compared & { least: number }): Row {
  const value = medianRatio(runs, given, [given.our, given.floor]);
  const work = `${given.work}, against ${given.floor}`;
  return {
    work: given.work,
    target: `≥ ${least} × ${given.floor}`,
    measured: times(value),
    isMet: verdict(value, value >= least),
    // Varnish is not everywhere.
    ratio: given.floor === 'Varnish' ? null : { name: work, value, better: 'higher' },
  };
}

function atMostRow(runs: Runs, { most, ...given }: Compared & { most: number }): Row {
  const value = medianRatio(runs, given, [given.our, given.floor]);
  return {
    work: given.work,
    target: `≤ ${most} × ${given.floor}`,
    measured: times(value),
    isMet: verdict(value, value <= most),
    ratio: { name: given.work, value, better: 'lower' },
  };
}

function limitRow({ work, measured, most, unit }: { work: string; measured: number; most: number; unit: string }): Row {
  const isKnown = Number.isFinite(measured);
  return {
    work,
    target: `≤ ${most} ${unit}`,
    measured: isKnown ? `${measured.toFixed(1)} ${unit}` : '–',
    isMet: isKnown ? measured <= most : null,
    ratio: null,
  };
}

function times(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(2)} ×` : '–';
}

function verdict(value: number, isMet: boolean): boolean | null {
  return Number.isFinite(value) ? isMet : null;
}
