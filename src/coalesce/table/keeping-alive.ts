/**
 * Comments for callers whose event stream is silent: a model that thinks after its answer's head. A comment is no part of the
 * answer: it is not recorded, and it may stand between two events only. Any other kind of answer has no place for one.
 */

import type { Answer, Flight } from '../flight/flight.ts';
import { headerValues } from '../request/head.ts';
import type { Board } from './board.ts';

/** When the callers of a flight are due a comment; Infinity where they get none. */
export function keepAliveDueAt({ state, policy }: Flight): number {
  const { keepAliveMs } = policy.deadlines;
  if (keepAliveMs === 0 || state.phase !== 'answering') return Infinity;
  const { answer } = state;
  if (!takesComments(answer)) return Infinity;
  return Math.max(answer.lastByteAt, answer.keptAliveAt ?? -Infinity) + keepAliveMs;
}

/** An event stream as its upstream wrote it, of a length that nobody counts. */
function takesComments({ head, events }: Answer): boolean {
  const isPlain = headerValues(head.headers, 'content-encoding').every((coding) => coding === 'identity');
  return events !== null && head.contentLength === null && isPlain;
}

/** Tells the callers that have read everything so far that a comment is due to them, where it is. */
export function keepAlive(board: Board, flight: Flight, now: number): void {
  if (flight.state.phase !== 'answering' || keepAliveDueAt(flight) > now) return;
  const { answer } = flight.state;
  answer.keptAliveAt = now;
  if (answer.events?.isBetweenEvents !== true) return;
  for (const caller of flight.callers) {
    if (caller.state.phase !== 'streaming' || !answer.buffer.isAtEnd(caller.cursor)) continue;
    caller.owedKeepAlive = true;
    board.effects.push({ kind: 'wake', exchange: caller.state.exchange });
  }
}
