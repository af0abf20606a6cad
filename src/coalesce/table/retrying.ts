/**
 * Detached: a call that came to nothing is made again, once for all who wait, before they have seen anything of it. The
 * flight keeps its slot and its deadlines meanwhile: both count from the first call on.
 */

import type { AnswerHead, Flight } from '../flight/flight.ts';
import { headerValues } from '../request/head.ts';
import type { RetryReason } from '../request/policy.ts';
import type { Board } from './board.ts';

/** What a call came to. `retryAfterMs`: what its upstream asks for; null: nothing. */
export interface Failure {
  readonly reason: RetryReason;
  readonly retryAfterMs: number | null;
}

/** An answer as a failure. Whether it is one is the policy's to say. */
export function failureOf(head: AnswerHead): Failure {
  const [seconds] = headerValues(head.headers, 'retry-after');
  // A date would need a clock that tells the time of day.
  const isNumber = seconds !== undefined && /^\s*\d{1,9}\s*$/.test(seconds);
  return { reason: head.status, retryAfterMs: isNumber ? Number(seconds) * 1000 : null };
}

/**
 * Whether a flight's call is made again after this failure. Then it backs off until it is time. Not where the policy does
 * not ask for it, where nobody waits any more, and where no time would be left.
 */
export function backsOff(board: Board, flight: Flight, came: { failure: Failure; now: number }): boolean {
  const { state, policy, callers } = flight;
  const { maxAttempts, on } = policy.retry;
  if (state.phase !== 'calling' || flight.request === null || callers.size === 0) return false;
  if (flight.attempts >= maxAttempts || !on.includes(came.failure.reason)) return false;
  const until = came.now + Math.max(backoffMs(board, flight), came.failure.retryAfterMs ?? 0);
  const { firstByteMs, totalMs } = policy.deadlines;
  if (until >= state.startedAt + Math.min(firstByteMs, totalMs)) return false;
  flight.state = { phase: 'backingOff', startedAt: state.startedAt, until };
  board.deadlines.set(flight, until);
  return true;
}

/** Doubled from try to try; somewhere in its upper half, so that flights which failed together do not come back together. */
function backoffMs(board: Board, { attempts, policy }: Flight): number {
  const longest = policy.retry.backoffMs * 2 ** (attempts - 1);
  return longest * (0.5 + board.random() / 2);
}
