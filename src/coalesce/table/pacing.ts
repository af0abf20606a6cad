/**
 * How much of an answer is held for its readers, and what gives way where it would be too much: the upstream, where the call
 * is ours to slow down, and readers that fall too far behind.
 */

import type { Answer, Caller, Flight } from '../flight/flight.ts';
import { settle, type Board } from './board.ts';
import { nextCallDeadline } from './call-deadlines.ts';
import { isReadElsewhere } from './fleet/claiming.ts';
import { releaseCaller } from './giving-up.ts';
import { dropCaller, leavingRole } from './joining.ts';

type Growth = { readonly answer: Answer; readonly now: number };

/** Keeps what the answer's readers hold within its limits, after it has grown. */
export function holdLimits(board: Board, flight: Flight, growth: Growth): void {
  const { buffer } = growth.answer;
  if (buffer.heldBytes > replayCap(board)) flight.recordsWhole = false;
  settle(board, flight, growth.now);
  const cap = replayCap(board);
  if (buffer.heldBytes <= cap) return;
  if (flight.leg === 'detached' || flight.fleet.role === 'follows') paceByFastest(board, flight, { ...growth, cap });
  else dropLaggards(board, flight, { front: buffer.length, cap, now: growth.now });
}

/** What one flight may hold: its cap, and once all of them together hold too much, its even share of what they may. */
function replayCap({ limits, replayBytes, flights }: Board): number {
  const { maxReplayBytes, maxReplayBytesTotal } = limits;
  return replayBytes > maxReplayBytesTotal
    ? Math.min(maxReplayBytes, maxReplayBytesTotal / flights.size)
    : maxReplayBytes;
}

/** The call is held up until its fastest reader has caught up, so that one who would get the answer alone gets it here too. */
function paceByFastest(board: Board, flight: Flight, growth: Growth & { cap: number }): void {
  const { answer, cap, now } = growth;
  // Readers elsewhere in the fleet are as fast as the answer comes.
  let front = isReadElsewhere(board, flight) ? answer.buffer.length : 0;
  for (const { cursor } of flight.callers) front = Math.max(front, cursor.offset);
  dropLaggards(board, flight, { front, cap, now });
  if (answer.heldUp || answer.buffer.length - front <= cap) return;
  answer.heldUp = true;
  const kind = flight.fleet.role === 'follows' ? 'holdReading' : 'holdCall';
  board.effects.push({ kind, flight: flight.id });
}

/** Lets a call that was held up go on, where this reader has little left to read. */
export function goOnFor(board: Board, caller: Caller, reading: Growth): void {
  const { answer, now } = reading;
  if (!answer.heldUp || answer.buffer.length - caller.cursor.offset > replayCap(board) / 2) return;
  answer.heldUp = false;
  answer.lastByteAt = now;
  const dueAt = nextCallDeadline(board, caller.flight);
  if (dueAt !== Infinity) board.deadlines.set(caller.flight, dueAt);
  const kind = caller.flight.fleet.role === 'follows' ? 'resumeReading' : 'resumeCall';
  board.effects.push({ kind, flight: caller.flight.id });
}

/** A reader that is behind the front by more than the cap would hold the memory of all: it is let go. */
function dropLaggards(board: Board, flight: Flight, limit: { front: number; cap: number; now: number }): void {
  for (const caller of flight.callers) {
    if (limit.front - caller.cursor.offset > limit.cap) dropLaggard(board, caller, limit.now);
  }
}

function dropLaggard(board: Board, caller: Caller, now: number): void {
  const { state } = caller;
  if (state.phase === 'streaming') board.effects.push({ kind: 'cut', exchange: state.exchange, ending: 'cut' });
  if (state.phase === 'ticketed') board.effects.push({ kind: 'callerLeft', role: leavingRole(caller) });
  releaseCaller(board, caller, 'limit');
  dropCaller(board, caller, now);
}
