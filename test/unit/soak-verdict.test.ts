/** That the soak sees a process that grows, and not one that breathes. */
import { expect, test } from 'vitest';
import { judgeGrowth, type Sample } from '../../harness/soak/verdict.ts';

const MiB = 1024 * 1024;

/** Ten rounds of a thousand exchanges. */
function rounds(of: (round: number) => { live: number; rss: number }): Sample[] {
  return Array.from({ length: 10 }, (_, round) => {
    const { live, rss } = of(round);
    return { exchanges: (round + 1) * 1_000, liveBytes: live, rssBytes: rss };
  });
}

test('what goes up and down is no growth', () => {
  const verdict = judgeGrowth(
    rounds((round) => ({ live: (22 + (round % 3) / 3) * MiB, rss: (90 + (round % 4) * 8) * MiB })),
  );
  expect(verdict.grew).toBe(false);
});

test('200 bytes that are left of each exchange are growth', () => {
  const verdict = judgeGrowth(rounds((round) => ({ live: 22 * MiB + round * 1_000 * 200, rss: 90 * MiB })));
  expect(verdict).toMatchObject({ grew: true, rssGrowth: 0 });
  expect(verdict.liveBytesPerExchange).toBeCloseTo(200);
});

test('pages that come and never go are growth, though the heap stays', () => {
  expect(judgeGrowth(rounds((round) => ({ live: 22 * MiB, rss: (90 + round * 6) * MiB }))).grew).toBe(true);
});

test('one high look among others is no growth', () => {
  expect(judgeGrowth(rounds((round) => ({ live: (round === 9 ? 40 : 22) * MiB, rss: 90 * MiB }))).grew).toBe(false);
});

test('too few samples show nothing, and that is said', () => {
  expect(() => judgeGrowth(rounds(() => ({ live: 0, rss: 0 })).slice(5))).toThrow('5 samples show no trend: six do');
});
