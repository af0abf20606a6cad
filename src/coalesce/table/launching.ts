/**
 * How a flight gets its upstream call: at once, after a wait for admission, or by promotion of a follower. What becomes of
 * its callers where it gets none is in `giving-up.ts`.
 */

import type { FlightEnding } from '../flight/endings.ts';
import { waitingCallers, type Caller, type CallRequest, type ExchangeId, type Flight } from '../flight/flight.ts';
import { APART } from '../flight/fleet-role.ts';
import { conclude, giveSlotBack, publish, removeCaller, settle, type Board } from './board.ts';
import { nextCallDeadline } from './call-deadlines.ts';
import { askForSlot, claim, needsFleetSlot } from './fleet/claiming.ts';
import { breakOff, cutStreaming } from './giving-up.ts';

/** Attached: makes `exchange` the flight's leader and takes a slot for it. */
export function leadAttached(board: Board, flight: Flight, options: { exchange: ExchangeId; now: number }): void {
  board.leaders.set(options.exchange, flight);
  startCall(board, flight, { leader: options.exchange, now: options.now });
}

function startCall(board: Board, flight: Flight, options: { leader: ExchangeId | null; now: number }): void {
  if (!flight.holdsSlot) board.admission.take(flight);
  call(board, flight, { leader: options.leader, startedAt: options.now });
}

function call(board: Board, flight: Flight, options: { leader: ExchangeId | null; startedAt: number }): void {
  flight.attempts += 1;
  flight.state = { phase: 'calling', ...options };
  board.deadlines.set(flight, nextCallDeadline(board, flight));
  board.effects.push({ kind: 'upstreamCalled' });
}

/** Detached: makes the call of a flight that has backed off once more, in the slot and the deadlines of the first. */
export function callAgain(board: Board, flight: Flight, now: number): void {
  const { state, request } = flight;
  if (state.phase !== 'backingOff' || request === null || now < state.until) return;
  call(board, flight, { leader: null, startedAt: state.startedAt });
  board.effects.push({ kind: 'startCall', flight: flight.id, request });
}

/** Lets a boarding flight that has a caller in deliver go on: to the fleet, where that has not been asked, else to its call. */
export function launch(board: Board, flight: Flight, now: number): void {
  if (board.sharesFlights && flight.fleet.role === 'apart') claim(board, flight);
  else admit(board, flight, now);
}

/** Starts the call of a flight, or queues it for a slot. */
export function admit(board: Board, flight: Flight, now: number): void {
  const { admission } = board;
  if (admission.isOpen(flight.tenant, flight.key)) start(board, flight, now);
  else if (!admission.hasPlaceFor(flight.tenant)) refuse(board, flight, now);
  else {
    const pushedOut = admission.enqueue(flight, now);
    flight.state = { phase: 'queued', since: now };
    board.deadlines.set(flight, now + admission.limits.maxWaitMs);
    if (pushedOut !== null) refuse(board, pushedOut, now);
  }
}

function refuse(board: Board, flight: Flight, now: number): void {
  breakOff(board, flight, { ending: 'abandoned', state: { phase: 'refusing', reason: 'queue_full' }, now });
}

/** Gives free slots to those that wait for them. */
export function admitQueued(board: Board, now: number): void {
  for (let next = board.admission.nextAdmitted(now); next !== null; next = board.admission.nextAdmitted(now)) {
    start(board, next, now);
  }
}

function start(board: Board, flight: Flight, now: number): void {
  if (!needsFleetSlot(board)) {
    depart(board, flight, now);
    return;
  }
  board.admission.take(flight);
  askForSlot(board, flight, flight.state.phase === 'queued' ? flight.state.since : now);
}

/** Starts the call of a flight that has every slot it needs but that of this process. */
export function depart(board: Board, flight: Flight, now: number): void {
  const { request, state } = flight;
  if ('since' in state) flight.queuedMs += now - state.since;
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
    giveSlotBack(board, flight);
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
  if (flight.state.phase === 'answering') succeed(board, flight, { ending: 'leader_lost', now });
  else handOver(board, flight, { ending: 'leader_lost', now });
}

/** Attached: the leader got an answer that concerns it alone. The others still want one. */
export function leaderAnswered(board: Board, flight: Flight, now: number): void {
  if (flight.state.phase !== 'calling' || flight.state.leader === null) return;
  board.leaders.delete(flight.state.leader);
  const ending = 'failed_status';
  if (flight.callers.size > 0) {
    handOver(board, flight, { ending, now });
    return;
  }
  conclude(board, flight, { ending, now });
  settle(board, flight, now);
}

/** The next of those who wait leads, unless too many have done so in vain: then the flight comes to its end. */
export function handOver(board: Board, flight: Flight, options: { ending: FlightEnding; now: number }): void {
  const { ending, now } = options;
  flight.promotions += 1;
  if (flight.promotions > board.limits.maxPromotions) {
    breakOff(board, flight, { ending, state: { phase: 'releasing', reason: 'limit' }, now });
    return;
  }
  giveSlotBack(board, flight);
  flight.state = { phase: 'boarding' };
  board.deadlines.remove(flight);
  if (waitingCallers(flight).length > 0) launch(board, flight, now);
}

/** Callers with bytes are cut; the rest go on in a later flight under the same key. */
export function succeed(board: Board, flight: Flight, options: { ending: FlightEnding; now: number }): void {
  const { ending, now } = options;
  const { request } = flight;
  cutStreaming(board, flight, ending);
  const heirs = [...flight.callers];
  conclude(board, flight, options);
  if (heirs.length > 0) handOver(board, beginSuccessor(board, flight, { heirs, request, now }), options);
  settle(board, flight, now);
}

type Succession = { readonly heirs: readonly Caller[]; readonly request: CallRequest | null; readonly now: number };

function beginSuccessor(board: Board, flight: Flight, options: Succession): Flight {
  const successor: Flight = {
    ...flight,
    request: options.request,
    id: board.names.flight(),
    begunAt: options.now,
    state: { phase: 'boarding' },
    callers: new Set(options.heirs),
    followers: options.heirs.length - 1,
    attempts: 0,
    queuedMs: 0,
    holdsSlot: false,
    holdsFleetSlot: false,
    fleet: APART,
    recordsWhole: true,
    orphanedAt: null,
    ending: null,
  };
  for (const heir of options.heirs) {
    heir.flight = successor;
    heir.cursor = { offset: 0 };
  }
  flight.callers.clear();
  publish(board, successor);
  return successor;
}
