/** Figures of two targets compared run by run: both ran in the same round, so that a slow minute hits them alike. */
import type { Figure, Runs } from '../loads/load.ts';
import type { Run } from '../measure/run.ts';
import type { TargetName } from '../measure/targets.ts';
import { median } from './statistics.ts';

/** Where a figure is found. */
export type Place = { readonly load: string; readonly figure: Figure };

export function runsOf(runs: Runs, load: string, target: TargetName): readonly Run[] {
  return runs.get(load)?.get(target) ?? [];
}

export function valuesOf(runs: Runs, { load, figure }: Place, target: TargetName): number[] {
  return runsOf(runs, load, target)
    .map((run) => figure.of(run) ?? Number.NaN)
    .filter(Number.isFinite);
}

/** Median of one target's figure divided by the other's, round by round; NaN where either was not measured. */
export function medianRatio(runs: Runs, place: Place, [one, other]: readonly [TargetName, TargetName]): number {
  return medianPair(runs, place, { one, other, combine: (left, right) => left / right });
}

/** Median of one target's figure minus the other's. */
export function medianDifference(runs: Runs, place: Place, [one, other]: readonly [TargetName, TargetName]): number {
  return medianPair(runs, place, { one, other, combine: (left, right) => left - right });
}

type Pair = {
  readonly one: TargetName;
  readonly other: TargetName;
  readonly combine: (one: number, other: number) => number;
};

function medianPair(runs: Runs, { load, figure }: Place, { one, other, combine }: Pair): number {
  const others = runsOf(runs, load, other);
  const pairs = runsOf(runs, load, one).map((run, round) => {
    const base = others[round];
    return base === undefined ? Number.NaN : combine(figure.of(run) ?? Number.NaN, figure.of(base) ?? Number.NaN);
  });
  return median(pairs.filter(Number.isFinite));
}
