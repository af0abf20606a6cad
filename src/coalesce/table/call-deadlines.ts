/**
 * When something is to be done about a running call next. What that is, is decided where it falls due. A call of another
 * instance has its deadlines there: when it began is known to its leader alone, and its leader tells where it fails.
 */

import type { Flight } from '../flight/flight.ts';
import type { Board } from './board.ts';
import { keepAliveDueAt } from './keeping-alive.ts';

/**
 * How much longer than `deadlines.total` a followed answer may come in: its leader ends it in time, and the word of that has
 * some way to go.
 */
export const LEADER_GRACE_MS = 10_000;

/** No byte for too long, too long in all, without a caller for too long, a comment due, or the time to call again. */
export function nextCallDeadline(board: Board, flight: Flight): number {
  const { state, policy } = flight;
  const { firstByteMs, idleMs, totalMs } = policy.deadlines;
  const orphanUntil = orphanedUntil(board, flight);
  switch (state.phase) {
    case 'calling':
      return Math.min(state.startedAt + Math.min(firstByteMs, totalMs), orphanUntil);
    case 'backingOff':
      return Math.min(state.until, orphanUntil);
    case 'answering': {
      if (flight.fleet.role === 'follows') return Math.min(followedUntil(flight), keepAliveDueAt(flight));
      // The silence of a call that is held up for its readers is ours.
      const silentUntil = state.answer.heldUp ? Infinity : state.answer.lastByteAt + idleMs;
      return Math.min(silentUntil, state.startedAt + totalMs, orphanUntil, keepAliveDueAt(flight));
    }
    case 'boarding':
    case 'claiming':
    // Its leader answers, fails or falls silent, and each is told; meanwhile nobody has bytes, and `deadlines.wait` bounds all.
    case 'following':
    case 'queued':
    case 'admitting':
    case 'landed':
    case 'releasing':
    case 'refusing':
    case 'ended':
      return Infinity;
  }
}

/**
 * The last resort of callers that have bytes of a followed answer, where its leader neither ends it nor fails, or they read
 * it too slowly; Infinity for any other flight. Counted from its head on, which came after the leader's call had begun: so a
 * leader that keeps `deadlines.total` is never overtaken, however long it queued and whoever else led before.
 */
export function followedUntil({ fleet, state, policy }: Flight): number {
  if (fleet.role !== 'follows' || state.phase !== 'answering') return Infinity;
  return state.answer.firstByteAt + policy.deadlines.totalMs + LEADER_GRACE_MS;
}

/** How long a detached call without a caller runs on; Infinity where it has one. */
export function orphanedUntil({ limits }: Board, { orphanedAt }: Flight): number {
  return orphanedAt === null ? Infinity : orphanedAt + limits.orphanGraceMs;
}
