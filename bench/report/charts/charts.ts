/** The two charts of the report, from the runs. */
import { burstOf } from '../../loads/shared.ts';
import { firstByteP50, type Runs, upstreamCalls } from '../../loads/load.ts';
import { crowdSizes, duplicateShares } from '../../loads/plan.ts';
import type { TargetName } from '../../measure/targets.ts';
import { valuesOf } from '../pairs.ts';
import { drawChart, type Series } from './line-chart.ts';
import { median } from '../statistics.ts';

const compared: readonly TargetName[] = ['no-op immediate', 'ours attached', 'ours detached', 'Varnish'];

/** First byte against the number of callers of one flight. */
export function firstByteChart(runs: Runs): string {
  const series = compared.map((name): Series => {
    const small = crowdSizes.map(
      (size) => [size, median(valuesOf(runs, { load: `crowd ${size}`, figure: firstByteP50 }, name))] as const,
    );
    const large = [1000, 4000].map(
      (size) => [size, median(valuesOf(runs, { load: burstOf(size).name, figure: firstByteP50 }, name))] as const,
    );
    return { name, points: [...small, ...large].filter(([, value]) => Number.isFinite(value) && value > 0) };
  });
  return drawChart({
    title: 'First byte of identical streams that begin at once',
    xTitle: 'callers',
    yTitle: 'first byte p50, ms',
    isLog: true,
    series,
  });
}

/** Calls made for a call that was needed, against the share of duplicates. */
export function gainChart(runs: Runs): string {
  const series = (['ours attached', 'ours detached'] as const).map((name): Series => {
    const points = duplicateShares.map((share) => {
      const [run] = runs.get(`gain ${share}`)?.get(name) ?? [];
      const calls = run === undefined ? Number.NaN : (upstreamCalls.of(run) ?? Number.NaN);
      return [share * 100, (run?.outcome.calls ?? 0) / calls] as const;
    });
    return { name, points: points.filter(([, gain]) => Number.isFinite(gain)) };
  });
  const ideal: Series = {
    name: 'the most there is',
    points: duplicateShares.map((share) => [share * 100, 1 / (1 - share)] as const),
  };
  return drawChart({
    title: 'Gain of an open loop of 300 requests/s',
    xTitle: 'requests that repeat the one before them, %',
    yTitle: 'requests ÷ upstream calls',
    isLog: false,
    series: [...series, ideal],
  });
}
