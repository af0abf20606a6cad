/**
 * How a flight gets its upstream call: at once, after a wait for admission, or by promotion of a follower. What becomes of
 * its callers where it gets none is in `giving-up.ts`.
 */

import { waitingCallers, type Caller, type ExchangeId, type Flight } from '../flight/flight.ts';
import { conclude, publish, removeCaller, settle, type Board } from './board.ts';
import { breakOff, cutStreaming } from './giving-up.ts';

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
  else if (board.admission.isQueueFull)
    breakOff(board, flight, { ending: 'abandoned', state: { phase: 'refusing', reason: 'queue_full' }, now });
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
    breakOff(board, flight, { ending: 'leader_lost', state: { phase: 'releasing', reason: 'limit' }, now });
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
