/**
 * How exchanges come to a flight and leave it: the decision, the ticket's one use, a caller's going. What the flight
 * then does is in `launching.ts` and `answering.ts`.
 */

import { APART } from '../flight/fleet-role.ts';
import {
  lateJoinOf,
  waitersOf,
  type Caller,
  type CallerRole,
  type CallRequest,
  type ExchangeId,
  type Flight,
  type FlightId,
  type Ticket,
} from '../flight/flight.ts';
import type { Key } from '../key/key.ts';
import type { ErrorShape, Usage } from '../profiles/profile.ts';
import type { ShedReason } from '../request/outcomes.ts';
import type { Policy } from '../request/policy.ts';
import type { Tenant } from '../request/tenant.ts';
import { addCaller, conclude, generationsOf, publish, removeCaller, settle, type Board } from './board.ts';
import { orphanedUntil } from './call-deadlines.ts';
import type { OwnAnswer } from './effects.ts';
import { letGo } from './giving-up.ts';
import { launch, leadAttached } from './launching.ts';
import type { NegativeEntry } from './negative-cache.ts';
import { replayFlight } from './replaying.ts';

export interface Arrival {
  /** The exchange as decide sees it. */
  readonly exchange: ExchangeId;
  readonly tenant: Tenant;
  readonly key: Key;
  readonly policy: Policy;
  readonly model: string;
  readonly errorShape: ErrorShape;
  readonly usage: Usage;
  readonly rawDigest: string;
  /** Digest of what identifies this exchange to deliver. */
  readonly binding: string;
  readonly request: CallRequest;
}

export type Decision =
  /** Attached: the exchange goes on and its answer is to be captured. */
  | { readonly kind: 'lead'; readonly flight: FlightId }
  /** The exchange is to present this ticket to deliver. */
  | {
      readonly kind: 'board';
      readonly role: CallerRole;
      readonly flight: FlightId;
      readonly ticket: Ticket;
      /** A follower's body was not the leader's byte by byte. */
      readonly bodyDiffers?: boolean;
    }
  | { readonly kind: 'alone'; readonly reason: 'limit' }
  | { readonly kind: 'shed'; readonly reason: ShedReason; readonly answer: OwnAnswer };

/** Decides about an eligible exchange: replays a kept answer, joins the newest flight under its key, or begins one. */
export function decide(board: Board, arrival: Arrival, now: number): Decision {
  if (board.callerCount >= board.limits.maxWaitersTotal) return { kind: 'alone', reason: 'limit' };
  const kept = board.negativeCache.find(arrival.tenant, arrival.key, now);
  if (kept !== null && board.flights.size < board.limits.maxFlights) return replay(board, kept, { arrival, now });
  const newest = generationsOf(board, arrival.tenant, arrival.key).at(-1);
  if (newest !== undefined) {
    const boarding = boardingOf(newest, now);
    if (boarding === 'open') return follow(board, newest, { arrival, now });
    if (boarding !== 'closed') board.effects.push({ kind: 'lateJoinRejected', reason: boarding });
  }
  return begin(board, arrival, now);
}

function boardingOf(flight: Flight, now: number): ReturnType<typeof lateJoinOf> | 'waiters' {
  const lateJoin = lateJoinOf(flight, now);
  if (lateJoin !== 'open') return lateJoin;
  return waitersOf(flight) >= flight.policy.maxWaiters ? 'waiters' : 'open';
}

type Boarding = { readonly arrival: Arrival; readonly now: number };

function follow(board: Board, flight: Flight, boarding: Boarding): Decision {
  flight.followers += 1;
  const bodyDiffers = flight.rawDigest !== boarding.arrival.rawDigest;
  board.effects.push({ kind: 'hit', canonicalOnly: bodyDiffers });
  return { ...issueTicket(board, flight, { ...boarding, role: 'follower' }), bodyDiffers };
}

function replay(board: Board, kept: NegativeEntry, boarding: Boarding): Decision {
  const { arrival, now } = boarding;
  board.effects.push({ kind: 'negativeHit' });
  const flight = replayFlight(board, kept, { flight: newFlight(board, arrival, now), now });
  return issueTicket(board, flight, { ...boarding, role: 'replayed', freshUntil: kept.until });
}

type Seat = Boarding & { readonly role: CallerRole; readonly freshUntil?: number };

function issueTicket(board: Board, flight: Flight, seat: Seat): Extract<Decision, { kind: 'board' }> {
  const { arrival, now, role, freshUntil = null } = seat;
  const ticket = board.names.ticket();
  const expiresAt = now + board.limits.ticketTtlMs;
  const caller: Caller = {
    ticket,
    binding: arrival.binding,
    role,
    arrivedAt: now,
    freshUntil,
    flight,
    cursor: { offset: 0 },
    state: { phase: 'ticketed', expiresAt },
    owedKeepAlive: false,
  };
  addCaller(board, caller);
  board.deadlines.set(caller, Math.min(expiresAt, now + flight.policy.deadlines.waitMs));
  return { kind: 'board', role, flight: flight.id, ticket };
}

function begin(board: Board, arrival: Arrival, now: number): Decision {
  if (!hasRoomForFlight(board, arrival)) return { kind: 'alone', reason: 'limit' };
  const { admission } = board;
  // Where flights are shared, whether it needs a slot is known only once the fleet has been asked.
  const mustQueue = !board.sharesFlights && !admission.isOpen(arrival.tenant, arrival.key);
  if (mustQueue && !admission.hasPlaceFor(arrival.tenant)) return shed(board, arrival.errorShape, now);
  const flight = newFlight(board, arrival, now);
  publish(board, flight);
  board.effects.push({ kind: 'missed' });
  if (board.leg === 'attached' && !mustQueue && !board.sharesFlights) {
    leadAttached(board, flight, { exchange: arrival.exchange, now });
    return { kind: 'lead', flight: flight.id };
  }
  return issueTicket(board, flight, { arrival, now, role: 'leader' });
}

/** Under an admission limit further generations queue for the place of one that calls. */
function hasRoomForFlight(board: Board, arrival: Arrival): boolean {
  const { limits } = board;
  return (
    (board.admission.isLimited || generationsOf(board, arrival.tenant, arrival.key).length < limits.maxGenerations) &&
    board.flights.size < limits.maxFlights &&
    board.replayBytes < limits.maxReplayBytesTotal &&
    (board.leg === 'attached' || board.requestBytes + arrival.request.body.length <= limits.maxRequestBytesTotal)
  );
}

function shed(board: Board, errorShape: ErrorShape, now: number): Decision {
  board.effects.push({ kind: 'shed', reason: 'queue_full' });
  const retryAfterSeconds = board.admission.retryAfterSeconds(now);
  const answer: OwnAnswer = { status: 429, reason: 'queue_full', errorShape, retryAfterSeconds };
  return { kind: 'shed', reason: 'queue_full', answer };
}

function newFlight(board: Board, arrival: Arrival, now: number): Flight {
  return {
    id: board.names.flight(),
    key: arrival.key,
    tenant: arrival.tenant,
    leg: board.leg,
    policy: arrival.policy,
    model: arrival.model,
    errorShape: arrival.errorShape,
    usage: arrival.usage,
    begunAt: now,
    rawDigest: arrival.rawDigest,
    request: board.leg === 'detached' ? arrival.request : null,
    state: { phase: 'boarding' },
    callers: new Set(),
    followers: 0,
    promotions: 0,
    attempts: 0,
    queuedMs: 0,
    holdsSlot: false,
    holdsFleetSlot: false,
    fleet: APART,
    recordsWhole: true,
    orphanedAt: null,
    ending: null,
  };
}

export type Redemption =
  /** The exchange waits; effects say when it gets something. */
  | {
      readonly kind: 'aboard';
      readonly flight: FlightId;
      readonly role: Caller['role'];
      readonly policy: string;
      readonly waitMs: number;
    }
  /** Unknown, used, expired, or made for another exchange. */
  | { readonly kind: 'unknown' };

/** Redeems a ticket, once, for the exchange that it was made for. */
export function redeem(
  board: Board,
  presented: { ticket: string; binding: string; exchange: ExchangeId },
  now: number,
): Redemption {
  const caller = board.tickets.get(presented.ticket as Ticket);
  if (caller === undefined || caller.binding !== presented.binding) return { kind: 'unknown' };
  const { flight } = caller;
  board.tickets.delete(caller.ticket);
  caller.state = { phase: 'waiting', exchange: presented.exchange };
  board.aboard.set(presented.exchange, caller);
  const waitUntil = caller.arrivedAt + flight.policy.deadlines.waitMs;
  board.deadlines.set(caller, waitUntil);
  const { phase } = flight.state;
  if (phase === 'boarding') launch(board, flight, now);
  else if (phase === 'releasing' || phase === 'refusing') letGo(board, flight, now);
  else if (phase === 'answering' || phase === 'landed')
    board.effects.push({ kind: 'wake', exchange: presented.exchange });
  const { id, policy } = flight;
  return { kind: 'aboard', flight: id, role: caller.role, policy: policy.name, waitMs: Math.max(0, waitUntil - now) };
}

/** A caller in deliver is gone: its client hung up, or its stream broke. */
export function callerLeft(board: Board, exchange: ExchangeId, now: number): void {
  const caller = board.aboard.get(exchange);
  if (caller === undefined) return;
  const queued = 'since' in caller.flight.state;
  board.effects.push({ kind: 'callerLeft', role: queued ? 'queued' : leavingRole(caller) });
  dropCaller(board, caller, now);
}

/** Who is replayed an answer follows a flight that is over. */
export function leavingRole({ role }: Caller): 'leader' | 'follower' {
  return role === 'leader' ? 'leader' : 'follower';
}

/** Takes a caller off its flight, for whatever reason, and lets the flight see whether anybody is left. */
export function dropCaller(board: Board, caller: Caller, now: number): void {
  const { flight } = caller;
  removeCaller(board, caller);
  if (flight.ending === null && flight.callers.size === 0) flightEmptied(board, flight, now);
  if (flight.callers.size === 0 || isHeldBackBy(caller)) settle(board, flight, now);
}

/** Whether bytes can be dropped once this caller is gone. */
function isHeldBackBy({ flight, cursor }: Caller): boolean {
  return 'answer' in flight.state && flight.state.answer.buffer.isHeldBackBy(cursor);
}

function flightEmptied(board: Board, flight: Flight, now: number): void {
  if (!hasCall(flight)) {
    conclude(board, flight, { ending: 'abandoned', now });
    return;
  }
  if (flight.leg === 'attached') return;
  flight.orphanedAt = now;
  board.deadlines.set(flight, Math.min(board.deadlines.dueAt(flight) ?? Infinity, orphanedUntil(board, flight)));
}

/** Whether a call of its own runs, or is to be made again. */
function hasCall({ state, fleet }: Flight): boolean {
  const { phase } = state;
  return phase === 'calling' || phase === 'backingOff' || (phase === 'answering' && fleet.role !== 'follows');
}
