/** When something is to be done about a running call next. What that is, is decided where it falls due. */

import type { Flight } from '../flight/flight.ts';
import type { Board } from './board.ts';
import { keepAliveDueAt } from './keeping-alive.ts';

/** No byte for too long, too long in all, without a caller for too long, a comment due, or the time to call again. */
export function nextCallDeadline(board: Board, flight: Flight): number {
  const { state, policy } = flight;
  const { firstByteMs, idleMs, totalMs } = policy.deadlines;
  const orphanUntil = orphanedUntil(board, flight);
  switch (state.phase) {
    case 'calling':
    case 'following':
      return Math.min(state.startedAt + Math.min(firstByteMs, totalMs), orphanUntil);
    case 'backingOff':
      return Math.min(state.until, orphanUntil);
    case 'answering': {
      // The silence of a call that is held up for its readers is ours.
      const silentUntil = state.answer.heldUp ? Infinity : state.answer.lastByteAt + idleMs;
      return Math.min(silentUntil, state.startedAt + totalMs, orphanUntil, keepAliveDueAt(flight));
    }
    case 'boarding':
    case 'claiming':
    case 'queued':
    case 'admitting':
    case 'landed':
    case 'releasing':
    case 'refusing':
    case 'ended':
      return Infinity;
  }
}

/** How long a detached call without a caller runs on; Infinity where it has one. */
export function orphanedUntil({ limits }: Board, { orphanedAt }: Flight): number {
  return orphanedAt === null ? Infinity : orphanedAt + limits.orphanGraceMs;
}
