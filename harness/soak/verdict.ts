/** Whether a process grew under the soak's load. The rounds are alike, so what it holds after them should be too. */

/** After a round, at rest. */
export type Sample = { readonly exchanges: number; readonly liveBytes: number; readonly rssBytes: number };

export type Verdict = {
  /** Live bytes more per exchange, by the line that fits the samples best. */
  readonly liveBytesPerExchange: number;
  /** From the first samples to the last, the middle of three each. */
  readonly liveGrowth: number;
  readonly rssGrowth: number;
  readonly grew: boolean;
};

const MiB = 1024 * 1024;

/** What the heap of a process at rest differs by from one look to the next, and what its pages do. */
const LIVE_SLACK = 1 * MiB;
const RSS_SLACK = 32 * MiB;

/** Of the samples behind the warm-up, six at least. */
export function judgeGrowth(samples: readonly Sample[]): Verdict {
  if (samples.length < 6) throw new Error(`${samples.length} samples show no trend: six do`);
  const growth = (of: (sample: Sample) => number): number =>
    middle(samples.slice(-3).map(of)) - middle(samples.slice(0, 3).map(of));
  const liveGrowth = growth(({ liveBytes }) => liveBytes);
  const rssGrowth = growth(({ rssBytes }) => rssBytes);
  const grew = liveGrowth > LIVE_SLACK || rssGrowth > RSS_SLACK;
  return { liveBytesPerExchange: slope(samples), liveGrowth, rssGrowth, grew };
}

function middle(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

function slope(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [x, y] = [mean(({ exchanges }) => exchanges), mean(({ liveBytes }) => liveBytes)];
  const rise = mean(({ exchanges, liveBytes }) => (exchanges - x) * (liveBytes - y));
  const run = mean(({ exchanges }) => (exchanges - x) ** 2);
  return run === 0 ? 0 : rise / run;
}
