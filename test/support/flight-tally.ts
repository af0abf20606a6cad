/** What schedules really reached, counted over many of them. */

import type { Effect } from '../../src/coalesce/table/effects.ts';

export type Tally = Map<string, number>;

export function count(tally: Tally, what: string, times = 1): void {
  tally.set(what, (tally.get(what) ?? 0) + times);
}

export function addTally(to: Tally, from: ReadonlyMap<string, number>): void {
  for (const [what, times] of from) count(to, what, times);
}

/** The line under which an effect is counted; some are not. */
export function countEffect(tally: Tally, effect: Effect): void {
  switch (effect.kind) {
    case 'hit':
      return count(tally, 'joins');
    case 'promoted':
      return count(tally, 'promotions');
    case 'cut':
      return count(tally, 'cuts');
    case 'release':
      return count(tally, `releases: ${effect.reason}`);
    case 'refuse':
      return count(tally, `refusals: ${effect.answer.reason}`);
    case 'shed':
      return count(tally, `sheds: ${effect.reason}`);
    case 'lateJoinRejected':
      return count(tally, `late joins rejected: ${effect.reason}`);
    case 'negativeHit':
      return count(tally, 'answers replayed');
    case 'leaderLost':
      return count(tally, 'leaders lost');
    case 'upstreamCalled':
      return count(tally, 'upstream calls');
    case 'holdCall':
      return count(tally, 'calls held up');
    case 'stopCapture':
      return count(tally, 'captures stopped');
    case 'flightEnded':
      count(tally, `flights: ${effect.report.ending}`);
      return count(tally, 'retries', effect.report.leg === 'detached' ? Math.max(0, effect.report.attempts - 1) : 0);
    default:
  }
}
