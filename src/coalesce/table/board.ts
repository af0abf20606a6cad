/**
 * The state that all parts of the flight table share, and the small steps on it: which flights there are, who holds
 * which ticket, what is due when, what is held. The steps keep the books; when to take them is decided elsewhere.
 */

import { DeadlineQueue } from '../flight/deadline-queue.ts';
import type { FlightEnding } from '../flight/endings.ts';
import {
  lateJoinOf,
  type Caller,
  type ExchangeId,
  type Flight,
  type FlightId,
  type Leg,
  type Ticket,
} from '../flight/flight.ts';
import type { Join } from '../flight/replay-buffer.ts';
import type { Key } from '../key/key.ts';
import type { Tenant } from '../request/tenant.ts';
import { Admission, type AdmissionLimits } from './admission/admission.ts';
import type { Effect, FlightReport } from './effects.ts';
import { partFromFleet } from './fleet/publishing.ts';
import { NegativeCache, type NegativeEntry } from './negative-cache.ts';
import { ReleasePace } from './release-pace.ts';

export interface TableLimits {
  readonly maxWaitersTotal: number;
  readonly maxGenerations: number;
  readonly maxFlights: number;
  readonly maxReplayBytes: number;
  readonly maxReplayBytesTotal: number;
  /** Request bodies that are held for calls, in all. */
  readonly maxRequestBytesTotal: number;
  readonly ticketTtlMs: number;
  /** Callers released per second and key. */
  readonly releaseRate: number;
  readonly maxPromotions: number;
  readonly orphanGraceMs: number;
  readonly admission: AdmissionLimits;
}

/** Gives fresh random names; the core draws no random bits itself. */
export interface Names {
  readonly flight: () => FlightId;
  readonly ticket: () => Ticket;
}

export interface Board {
  readonly leg: Leg;
  /** Whether a flight asks the fleet who leads before it calls. */
  readonly sharesFlights: boolean;
  readonly names: Names;
  /** A number from 0 up to 1, of even chance. */
  readonly random: () => number;
  readonly isReadElsewhere: (flight: FlightId) => boolean;
  /** How chunks of an answer become what is sent; absent: they are laid one behind the other. */
  readonly join: Join | undefined;
  limits: TableLimits;
  readonly admission: Admission;
  readonly pace: ReleasePace;
  /** Flights that take joiners or run a call, oldest generation first; the tenant comes first so that no digest alone parts tenants. */
  readonly partitions: Map<Tenant, Map<Key, Flight[]>>;
  /** Every flight that still holds anything. */
  readonly flights: Map<FlightId, Flight>;
  readonly tickets: Map<Ticket, Caller>;
  /** Callers in deliver. */
  readonly aboard: Map<ExchangeId, Caller>;
  /** Attached leaders whose answer is being captured. */
  readonly leaders: Map<ExchangeId, Flight>;
  /** Answers that are kept though their flights are over. */
  readonly negativeCache: NegativeCache;
  readonly deadlines: DeadlineQueue<Caller | Flight | NegativeEntry>;
  replayBytes: number;
  requestBytes: number;
  callerCount: number;
  effects: Effect[];
}

export interface BoardOptions {
  readonly leg: Leg;
  /** Whether there is a fleet to ask; false unless given. */
  readonly sharesFlights?: boolean;
  readonly limits: TableLimits;
  readonly names: Names;
  /** A number from 0 up to 1, of even chance; the core draws none itself. */
  readonly random: () => number;
  /** Whether other instances read what a flight publishes; no unless given. */
  readonly isReadElsewhere?: (flight: FlightId) => boolean;
  readonly join?: Join;
}

export function createBoard(options: BoardOptions): Board {
  const { leg, sharesFlights = false, limits, names, random, isReadElsewhere = () => false, join } = options;
  return {
    leg,
    sharesFlights,
    names,
    random,
    isReadElsewhere,
    join,
    limits,
    admission: new Admission(limits.admission, limits.maxGenerations),
    pace: new ReleasePace(limits.releaseRate),
    partitions: new Map(),
    flights: new Map(),
    tickets: new Map(),
    aboard: new Map(),
    leaders: new Map(),
    negativeCache: new NegativeCache(),
    deadlines: new DeadlineQueue(),
    replayBytes: 0,
    requestBytes: 0,
    callerCount: 0,
    effects: [],
  };
}

/** Holds from now on; what is over a lowered limit stays until it ends. */
export function limitTo(board: Board, limits: TableLimits): void {
  board.limits = limits;
  board.admission.limitTo(limits.admission, limits.maxGenerations);
  board.pace.limitTo(limits.releaseRate);
}

/** The flights under a key that are not over, oldest first. */
export function generationsOf(board: Board, tenant: Tenant, key: Key): readonly Flight[] {
  return board.partitions.get(tenant)?.get(key) ?? [];
}

export function publish(board: Board, flight: Flight): void {
  const keys = board.partitions.get(flight.tenant) ?? new Map<Key, Flight[]>();
  board.partitions.set(flight.tenant, keys);
  const generations = keys.get(flight.key) ?? [];
  keys.set(flight.key, generations);
  generations.push(flight);
  board.flights.set(flight.id, flight);
  board.requestBytes += flight.request?.body.length ?? 0;
}

/** Frees the key, by identity: a later flight under the same key stays. */
function unpublish(board: Board, flight: Flight): void {
  const keys = board.partitions.get(flight.tenant);
  const rest = keys?.get(flight.key)?.filter((other) => other !== flight) ?? [];
  if (rest.length > 0) keys?.set(flight.key, rest);
  else keys?.delete(flight.key);
  if (keys?.size === 0) board.partitions.delete(flight.tenant);
}

/** Lets go of the request that the detached leg would send: it was answered, or will not be sent. */
export function dropRequest(board: Board, flight: Flight): void {
  board.requestBytes -= flight.request?.body.length ?? 0;
  flight.request = null;
}

export function addCaller(board: Board, caller: Caller): void {
  caller.flight.callers.add(caller);
  caller.flight.orphanedAt = null;
  board.callerCount += 1;
  if (caller.state.phase === 'ticketed') board.tickets.set(caller.ticket, caller);
}

/** Takes a caller off its flight and out of all books. */
export function removeCaller(board: Board, caller: Caller): void {
  if (!caller.flight.callers.delete(caller)) return;
  board.callerCount -= 1;
  board.deadlines.remove(caller);
  if (caller.state.phase === 'ticketed') board.tickets.delete(caller.ticket);
  else board.aboard.delete(caller.state.exchange);
}

/**
 * Ends a flight's course: frees the key and the slot and tells its ending. The record stays for callers that read on.
 */
export function conclude(board: Board, flight: Flight, options: { ending: FlightEnding; now: number }): void {
  if (flight.ending !== null) return;
  flight.ending = options.ending;
  dropRequest(board, flight);
  unpublish(board, flight);
  board.admission.leaveQueue(flight);
  giveSlotBack(board, flight);
  partFromFleet(flight, board.effects);
  board.effects.push({ kind: 'flightEnded', report: reportOf(flight, options) });
}

/** The slot of this process, and the fleet's beside it. */
export function giveSlotBack(board: Board, flight: Flight): void {
  board.admission.giveBack(flight);
  if (!flight.holdsFleetSlot) return;
  flight.holdsFleetSlot = false;
  board.effects.push({ kind: 'giveSlotBack', flight: flight.id });
}

function reportOf(flight: Flight, options: { ending: FlightEnding; now: number }): FlightReport {
  const { state } = flight;
  const answer = 'answer' in state ? state.answer : null;
  return {
    id: flight.id,
    key8: flight.key.slice(0, 8),
    leg: flight.leg,
    model: flight.model,
    policy: flight.policy.name,
    fleet: flight.fleet.role,
    fleetFlight: flight.fleet.role === 'apart' ? null : flight.fleet.fleetFlight,
    ending: options.ending,
    followers: flight.followers,
    promotions: flight.promotions,
    attempts: flight.attempts,
    queuedMs: flight.queuedMs + ('since' in state ? options.now - state.since : 0),
    bytes: answer?.buffer.length ?? 0,
    status: answer?.head.status ?? null,
    tokens: state.phase === 'landed' ? state.tokens : null,
    firstByteMs: answer === null ? null : answer.firstByteAt - answer.calledAt,
    ageMs: options.now - flight.begunAt,
  };
}

/** Forgets a concluded flight once nobody reads from it; else drops what no reader needs. */
export function settle(board: Board, flight: Flight, now: number): void {
  if (flight.ending !== null && flight.callers.size === 0) {
    freeRecord(board, flight, Infinity);
    flight.state = { phase: 'ended' };
    board.deadlines.remove(flight);
    board.flights.delete(flight.id);
    return;
  }
  if ('answer' in flight.state && lateJoinOf(flight, now) !== 'open') freeRecord(board, flight, lowestCursor(flight));
}

function lowestCursor(flight: Flight): number {
  let lowest = Infinity;
  for (const caller of flight.callers) lowest = Math.min(lowest, caller.cursor.offset);
  return lowest;
}

function freeRecord(board: Board, flight: Flight, before: number): void {
  const { state } = flight;
  if (state.phase !== 'answering' && state.phase !== 'landed') return;
  const { buffer } = state.answer;
  board.replayBytes -= before === Infinity ? buffer.clear() : buffer.dropBefore(before);
}
