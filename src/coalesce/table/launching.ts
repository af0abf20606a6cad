/**
 * How a flight gets its upstream call: at once, after a wait for admission, or by promotion of a follower; and how its
 * callers are sent upstream by themselves where it gets none.
 */

import type { FlightEnding } from '../flight/endings.ts';
import { waitingCallers, type Caller, type ExchangeId, type Flight, type ReleaseReason } from '../flight/flight.ts';
import { conclude, publish, removeCaller, settle, type Board } from './board.ts';
import type { OwnAnswer } from './effects.ts';

/** Attached: makes `exchange` the flight's leader and takes a slot for it. */
export function leadAttached(board: Board, flight: Flight, options: { exchange: ExchangeId; now: number }): void {
  board.leaders.set(options.exchange, flight);
  startCall(board, flight, { leader: options.exchange, now: options.now });
}

function startCall(board: Board, flight: Flight, options: { leader: ExchangeId | null; now: number }): void {
  const { leader, now } = options;
  const { deadlines } = flight.policy;
  board.admission.take(flight);
  flight.state = { phase: 'calling', startedAt: now, leader };
  board.deadlines.set(flight, now + Math.min(deadlines.firstByteMs, deadlines.totalMs));
  board.effects.push({ kind: 'upstreamCalled' });
}

/** Starts the call of a boarding flight that has a caller in deliver, or queues it for a slot. */
export function launch(board: Board, flight: Flight, now: number): void {
  if (board.admission.hasFreeSlot) start(board, flight, now);
  else if (board.admission.isQueueFull) refuseWaiting(board, flight, { reason: 'queue_full', now });
  else {
    board.admission.enqueue(flight);
    flight.state = { phase: 'queued', since: now };
    board.deadlines.set(flight, now + board.admission.limits.maxWaitMs);
  }
}

/** Gives free slots to those that wait for them. */
export function admitQueued(board: Board, now: number): void {
  for (let next = board.admission.nextAdmitted(); next !== null; next = board.admission.nextAdmitted()) {
    start(board, next, now);
  }
}

function start(board: Board, flight: Flight, now: number): void {
  const { request } = flight;
  if (flight.leg === 'attached') {
    promote(board, flight, now);
  } else if (request !== null) {
    startCall(board, flight, { leader: null, now });
    board.effects.push({ kind: 'startCall', flight: flight.id, request });
  }
}

function promote(board: Board, flight: Flight, now: number): void {
  const [next] = waitingCallers(flight);
  if (next === undefined || next.state.phase !== 'waiting') {
    flight.state = { phase: 'boarding' };
    board.deadlines.remove(flight);
    return;
  }
  const { exchange } = next.state;
  removeCaller(board, next);
  leadAttached(board, flight, { exchange, now });
  board.effects.push({ kind: 'promote', exchange, flight: flight.id });
  if (flight.promotions > 0) board.effects.push({ kind: 'promoted' });
}

/** Attached: the exchange that led a flight is gone before its answer was whole. */
export function leaderLeft(board: Board, exchange: ExchangeId, now: number): void {
  const flight = board.leaders.get(exchange);
  if (flight === undefined) return;
  board.leaders.delete(exchange);
  board.effects.push({ kind: 'callerLeft', role: 'leader' });
  if (flight.callers.size === 0) {
    conclude(board, flight, { ending: 'abandoned', now });
    settle(board, flight, now);
    return;
  }
  board.effects.push({ kind: 'leaderLost' });
  if (flight.state.phase === 'answering') succeed(board, flight, now);
  else handOver(board, flight, now);
}

function handOver(board: Board, flight: Flight, now: number): void {
  flight.promotions += 1;
  if (flight.promotions > board.limits.maxPromotions) {
    breakOff(board, flight, { ending: 'leader_lost', now, reason: 'limit' });
    return;
  }
  board.admission.giveBack(flight);
  flight.state = { phase: 'boarding' };
  board.deadlines.remove(flight);
  if (waitingCallers(flight).length > 0) launch(board, flight, now);
}

/** Callers with bytes are cut; the rest go on in a later flight under the same key. */
function succeed(board: Board, flight: Flight, now: number): void {
  cutStreaming(board, flight, 'leader_lost');
  const heirs = [...flight.callers];
  conclude(board, flight, { ending: 'leader_lost', now });
  if (heirs.length > 0) handOver(board, beginSuccessor(board, flight, { heirs, now }), now);
  settle(board, flight, now);
}

function beginSuccessor(board: Board, flight: Flight, options: { heirs: readonly Caller[]; now: number }): Flight {
  const successor: Flight = {
    ...flight,
    id: board.names.flight(),
    begunAt: options.now,
    state: { phase: 'boarding' },
    callers: new Set(options.heirs),
    followers: options.heirs.length - 1,
    holdsSlot: false,
    recordsWhole: true,
    orphanedAt: null,
    ending: null,
  };
  for (const heir of options.heirs) {
    heir.flight = successor;
    heir.cursor = { next: 0, offset: 0 };
  }
  flight.callers.clear();
  publish(board, successor);
  return successor;
}

function cutStreaming(board: Board, flight: Flight, ending: FlightEnding): void {
  for (const caller of flight.callers) {
    if (caller.state.phase !== 'streaming') continue;
    board.effects.push({ kind: 'cut', exchange: caller.state.exchange, ending });
    removeCaller(board, caller);
  }
}

/**
 * Ends a flight that gives no whole answer: callers with bytes are cut, the others are released one after the other. A
 * running capture stops; a running call is cancelled.
 */
export function breakOff(
  board: Board,
  flight: Flight,
  options: { ending: FlightEnding; reason: ReleaseReason; now: number },
): void {
  stopCall(board, flight);
  cutStreaming(board, flight, options.ending);
  conclude(board, flight, options);
  settleForRelease(board, flight, options);
}

function settleForRelease(board: Board, flight: Flight, options: { reason: ReleaseReason; now: number }): void {
  if (flight.state.phase === 'answering') board.replayBytes -= flight.state.answer.buffer.clear();
  flight.state = { phase: 'releasing', reason: options.reason };
  board.deadlines.remove(flight);
  releaseNext(board, flight, options.now);
  settle(board, flight, options.now);
}

/** Stops what runs for a flight that will not use it: the capture of its leader, or its own call. */
export function stopCall(board: Board, flight: Flight): void {
  const { state } = flight;
  if (state.phase !== 'calling' && state.phase !== 'answering') return;
  if (state.leader === null) {
    board.effects.push({ kind: 'cancelCall', flight: flight.id });
    return;
  }
  if (!board.leaders.delete(state.leader)) return;
  board.effects.push({ kind: 'stopCapture', exchange: state.leader });
}

/** Releases the next waiting caller of a flight that is being released, if its turn has come. */
export function releaseNext(board: Board, flight: Flight, now: number): void {
  const { state } = flight;
  if (state.phase !== 'releasing') return;
  const [next, ...others] = waitingCallers(flight);
  if (next === undefined) return;
  if (board.pace.nextTurn(flight.key, now) <= now) {
    board.pace.takeTurn(flight.key, now);
    releaseCaller(board, next, state.reason);
    if (others.length === 0) return;
  }
  board.deadlines.set(flight, board.pace.nextTurn(flight.key, now));
}

/** Sends one waiting caller upstream by itself and takes it off its flight. */
export function releaseCaller(board: Board, caller: Caller, reason: ReleaseReason): void {
  if (caller.state.phase !== 'waiting') return;
  const { exchange } = caller.state;
  removeCaller(board, caller);
  board.effects.push({ kind: 'release', exchange, reason }, { kind: 'upstreamCalled' });
}

/** Answers every waiting caller of a flight that was not admitted with 429 and ends the flight. */
export function refuseWaiting(
  board: Board,
  flight: Flight,
  options: { reason: 'queue_full' | 'max_wait'; now: number },
): void {
  const answer: OwnAnswer = {
    status: 429,
    reason: options.reason,
    errorShape: flight.errorShape,
    retryAfterSeconds: 1,
  };
  for (const caller of waitingCallers(flight)) {
    refuseCaller(board, caller, answer);
    board.effects.push({ kind: 'shed', reason: options.reason });
  }
  conclude(board, flight, { ending: 'abandoned', now: options.now });
  settleForRelease(board, flight, { reason: 'limit', now: options.now });
}

/** Gives one waiting caller an answer of our own and takes it off its flight. */
export function refuseCaller(board: Board, caller: Caller, answer: OwnAnswer): void {
  if (caller.state.phase !== 'waiting') return;
  const { exchange } = caller.state;
  removeCaller(board, caller);
  board.effects.push({ kind: 'refuse', exchange, answer });
}
