/** How the demo counts upstream calls, from their times alone. */
import { describe, expect, test } from 'vitest';
import { type CallTimes, countWaves, differences, peakOf } from '../../demo/figures.ts';

describe('a wave', () => {
  test.for<[fact: string, times: Array<[number, number | undefined]>, waves: number, peak: number]>([
    ['no calls make none', [], 0, 0],
    [
      'calls that overlap from the start are one',
      [
        [0, 10],
        [1, 9],
        [2, 11],
      ],
      1,
      3,
    ],
    [
      'calls one after the other are one each',
      [
        [0, 10],
        [10, 20],
        [20, 30],
      ],
      3,
      1,
    ],
    [
      'five calls, two at a time, are three',
      [
        [0, 14],
        [1, 15],
        [15, 29],
        [16, 28],
        [29, 43],
      ],
      3,
      2,
    ],
    [
      'a call that never ends holds the others in its wave',
      [
        [0, undefined],
        [5, undefined],
      ],
      1,
      2,
    ],
    [
      'the order in which calls are listed does not matter',
      [
        [10, 20],
        [0, 10],
      ],
      2,
      1,
    ],
  ])('%s', ([, times, waves, peak]) => {
    const calls: CallTimes[] = times.map(([startedAtMs, endedAtMs]) => ({ startedAtMs, endedAtMs }));
    expect([countWaves(calls), peakOf(calls)]).toEqual([waves, peak]);
  });
});

test('only what differs from the expected figures is told', () => {
  expect(differences({ waves: 4, failed: 0, other: 1 }, { waves: 3, failed: 0 })).toEqual(['waves is 4, expected 3']);
});
