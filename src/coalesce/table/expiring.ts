/** What happens to callers and flights whose time is up. */

import type { Caller, Flight } from '../flight/flight.ts';
import { conclude, settle, type Board } from './board.ts';
import type { NegativeEntry } from './negative-cache.ts';
import { dropCaller, leavingRole } from './joining.ts';
import { breakOff, letGo, releaseCaller, stopCall } from './giving-up.ts';
import { keepAlive } from './keeping-alive.ts';
import { callAgain } from './launching.ts';
import { isReadElsewhere } from './fleet/claiming.ts';
import { followedUntil, nextCallDeadline, orphanedUntil } from './call-deadlines.ts';

const LOOK_AGAIN_MS = 1_000;

/** Ends everything that is due at `now`. A bug ends the flight that it came up in, and no other. */
export function expire(board: Board, now: number): void {
  for (let due = board.deadlines.takeDue(now); due !== null; due = board.deadlines.takeDue(now)) {
    try {
      expireOne(board, due, now);
    } catch (error) {
      board.effects.push({ kind: 'invariantBroken', error });
      if (!('until' in due)) endBroken(board, 'ticket' in due ? due.flight : due, now);
    }
  }
}

type Due = Caller | Flight | NegativeEntry;

function expireOne(board: Board, due: Due, now: number): void {
  if ('ticket' in due) expireCaller(board, due, now);
  else if ('until' in due) board.negativeCache.forget(due);
  else expireFlight(board, due, now);
}

/** Nothing that such a flight says of itself is trusted: its callers go where they can, and it is forgotten. */
function endBroken(board: Board, flight: Flight, now: number): void {
  try {
    breakOff(board, flight, { ending: 'invariant', state: { phase: 'releasing', reason: 'limit' }, now });
  } catch (error) {
    board.effects.push({ kind: 'invariantBroken', error });
    board.flights.delete(flight.id);
  }
  // Else the lease of what it leads could be kept for ever, and others would wait for it.
  if (board.sharesFlights) board.effects.push({ kind: 'leave', flight: flight.id });
}

/** An unused ticket counts as a caller that left; one that waits too long goes upstream by itself. */
function expireCaller(board: Board, caller: Caller, now: number): void {
  if (caller.state.phase === 'waiting') releaseCaller(board, caller, 'limit');
  else board.effects.push({ kind: 'callerLeft', role: leavingRole(caller) });
  dropCaller(board, caller, now);
}

function expireFlight(board: Board, flight: Flight, now: number): void {
  switch (flight.state.phase) {
    case 'queued':
    case 'admitting':
      breakOff(board, flight, { ending: 'abandoned', state: { phase: 'refusing', reason: 'max_wait' }, now });
      return;
    case 'releasing':
      letGo(board, flight, now);
      return;
    case 'calling':
    case 'backingOff':
    case 'answering':
      expireCall(board, flight, now);
      return;
    case 'boarding':
    case 'claiming':
    case 'following':
    case 'landed':
    case 'refusing':
    case 'ended':
      return;
  }
}

function expireCall(board: Board, flight: Flight, now: number): void {
  keepAlive(board, flight, now);
  stayForOthers(board, flight, now);
  const dueAt = nextCallDeadline(board, flight);
  if (dueAt > now) {
    board.deadlines.set(flight, dueAt);
    return;
  }
  const ending = callEnding(board, flight, now);
  if (ending === 'backed_off') {
    callAgain(board, flight, now);
    return;
  }
  if (ending === 'abandoned') {
    stopCall(board, flight);
    conclude(board, flight, { ending, now });
    settle(board, flight, now);
    return;
  }
  breakOff(board, flight, {
    ending,
    state: flight.leg === 'detached' ? { phase: 'refusing', reason: ending } : { phase: 'releasing', reason: 'limit' },
    now,
  });
}

/** A call that has lost its callers here runs on while other instances read its answer; that is looked at again and again. */
function stayForOthers(board: Board, flight: Flight, now: number): void {
  if (now < orphanedUntil(board, flight) || !isReadElsewhere(board, flight)) return;
  flight.orphanedAt = now + Math.max(0, LOOK_AGAIN_MS - board.limits.orphanGraceMs);
}

function callEnding(
  board: Board,
  flight: Flight,
  now: number,
): 'abandoned' | 'backed_off' | 'first_byte_timeout' | 'idle_timeout' | 'total_timeout' {
  const { state, policy } = flight;
  if (now >= orphanedUntil(board, flight)) return 'abandoned';
  if (now >= followedUntil(flight)) return 'total_timeout';
  if (state.phase === 'backingOff' && now < state.startedAt + policy.deadlines.firstByteMs) return 'backed_off';
  if ('startedAt' in state && now >= state.startedAt + policy.deadlines.totalMs) return 'total_timeout';
  return state.phase === 'answering' ? 'idle_timeout' : 'first_byte_timeout';
}
