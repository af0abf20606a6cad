/** What becomes of a flight whose leader, in another instance, is gone. */

import { APART } from '../../flight/fleet-role.ts';
import type { Flight } from '../../flight/flight.ts';
import type { Board } from '../board.ts';
import { handOver, succeed } from '../launching.ts';

/**
 * How the fleet's leader was lost. `lease_lost`: its instance is silent. `gave_up`: it told that there will be no whole answer.
 * `cut`: its answer was shorter than its head promised. `unreadable`: what came is not what it wrote. `redis_down`: nothing can
 * be read.
 */
export type Loss = 'lease_lost' | 'gave_up' | 'cut' | 'unreadable' | 'redis_down';

/** Callers with bytes are cut. The others ask again who leads, unless that was in vain too often. */
export function loseLeader(board: Board, flight: Flight, lost: { why: Loss; now: number }): void {
  const { why, now } = lost;
  const isAnswered = flight.state.phase === 'answering';
  if (!isAnswered && flight.state.phase !== 'following') return;
  board.effects.push({ kind: 'leaderLost' });
  const isCut = isAnswered && (why === 'cut' || why === 'gave_up');
  const options = { ending: isCut ? 'cut' : 'lease_lost', now } as const;
  if (isAnswered) {
    succeed(board, flight, options);
    return;
  }
  flight.fleet = APART;
  handOver(board, flight, options);
}
