/**
 * The flight table as its shell sees it: events and a time in, effects out. Every call is followed by what it makes
 * possible (a freed slot goes to the next in the queue), and its effects are kept until they are taken.
 */

import {
  waitersOf,
  type AnswerHead,
  type ExchangeId,
  type FlightId,
  type FlightState,
  type Leg,
} from '../flight/flight.ts';
import type { Tokens } from '../answer/usage.ts';
import type { FleetRole } from '../flight/fleet-role.ts';
import type { HeaderList } from '../request/head.ts';
import { ShadowTable, type ShadowArrival, type Would } from '../shadow/shadow-table.ts';
import { answerBegan, answerBroke, answeredByEnvoy, answerEnded, answerGrew } from './answering.ts';
import { createBoard, limitTo, type Board, type BoardOptions, type TableLimits } from './board.ts';
import { pull, type Delivery } from './delivering.ts';
import type { Effect } from './effects.ts';
import { expire } from './expiring.ts';
import { callerLeft, decide, redeem, type Arrival, type Decision, type Redemption } from './joining.ts';
import { hearFromFleet, type FleetNews } from './fleet/fleet-news.ts';
import { breakOff } from './giving-up.ts';
import { admitQueued, leaderLeft } from './launching.ts';

/** What is held now. `waiters`: callers beyond the first of each flight. */
export interface Totals {
  readonly flights: number;
  readonly waiters: number;
  readonly replayBytes: number;
  readonly queue: number;
}

export interface FlightLine {
  readonly id: FlightId;
  readonly key8: string;
  readonly leg: Leg;
  readonly phase: FlightState['phase'];
  readonly fleet: FleetRole['role'];
  readonly ageMs: number;
  readonly waiters: number;
  readonly bytes: number;
  readonly model: string;
  readonly policy: string;
}

export class FlightTable {
  readonly #board: Board;
  readonly #shadow: ShadowTable;

  /** `board`: for who looks into the books, made of the same options. */
  constructor(options: BoardOptions, board: Board = createBoard(options)) {
    this.#board = board;
    this.#shadow = new ShadowTable({
      maxFlights: options.limits.maxFlights,
      maxBytes: options.limits.maxReplayBytesTotal,
      name: options.names.flight,
      tell: (comparison) => this.#board.effects.push({ kind: 'compared', comparison }),
    });
  }

  get leg(): Leg {
    return this.#board.leg;
  }

  /** New limits, for what comes from now on and for who waits; nothing that runs is ended for them. */
  limitTo(limits: TableLimits, now: number): void {
    limitTo(this.#board, limits);
    this.#shadow.limitTo({ maxFlights: limits.maxFlights, maxBytes: limits.maxReplayBytesTotal });
    admitQueued(this.#board, now);
  }

  decide(arrival: Arrival, now: number): Decision {
    this.#shadow.end(arrival.exchange);
    const decision = decide(this.#board, arrival, now);
    admitQueued(this.#board, now);
    return decision;
  }

  redeem(presented: { ticket: string; binding: string; exchange: ExchangeId }, now: number): Redemption {
    return redeem(this.#board, presented, now);
  }

  /** An exchange's gRPC stream is over: as a caller, as a leader, as a would-be leader, or as nothing of ours. */
  exchangeEnded(exchange: ExchangeId, now: number): void {
    this.#shadow.end(exchange);
    callerLeft(this.#board, exchange, now);
    leaderLeft(this.#board, exchange, now);
    admitQueued(this.#board, now);
  }

  answerBegan(flight: FlightId, came: { head: AnswerHead; endOfStream: boolean; now: number }): void {
    answerBegan(this.#board, flight, came);
    admitQueued(this.#board, came.now);
  }

  /** Attached: the leader's answer is one of Envoy's own. */
  answeredByEnvoy(flight: FlightId, now: number): void {
    answeredByEnvoy(this.#board, flight, now);
    admitQueued(this.#board, now);
  }

  /** What the answer cost, where it is whole now and says so. */
  answerGrew(flight: FlightId, came: { bytes: Uint8Array; now: number }): Tokens | null {
    const tokens = answerGrew(this.#board, flight, came);
    admitQueued(this.#board, came.now);
    return tokens;
  }

  /** As `answerGrew`. */
  answerEnded(flight: FlightId, came: { trailers: HeaderList | null; now: number }): Tokens | null {
    const tokens = answerEnded(this.#board, flight, came);
    admitQueued(this.#board, came.now);
    return tokens;
  }

  /** Detached: the call failed, before its answer or in the midst of it. */
  answerBroke(flight: FlightId, now: number): void {
    answerBroke(this.#board, flight, now);
    admitQueued(this.#board, now);
  }

  /** Where flights are shared: what the fleet says of this one. The answer of a leader elsewhere comes as that of a call. */
  hearFromFleet(flight: FlightId, news: FleetNews & { now: number }): void {
    hearFromFleet(this.#board, flight, news);
    admitQueued(this.#board, news.now);
  }

  pull(exchange: ExchangeId, now: number): Delivery {
    return pull(this.#board, exchange, now);
  }

  /**
   * Whether the head of the answer is to be asked for, in case the exchange comes under shadow and is compared. `chance` is
   * random, from 0 up to, but not including, 1. `exchangeEnded` ends what begins here.
   */
  drawForComparison(exchange: ExchangeId, draw: { compare: number; chance: number }): boolean {
    return this.#shadow.draw(exchange, draw);
  }

  /** What an exchange under shadow would have been; `exchangeEnded` ends a would-be flight. */
  shadow(arrival: ShadowArrival): Would {
    const would = this.#shadow.begin(arrival);
    if (would.role === 'follower') this.#board.effects.push({ kind: 'wouldHit' });
    return would;
  }

  /** The answer of an exchange that is compared. */
  specimenBegan(exchange: ExchangeId, head: AnswerHead): void {
    this.#shadow.specimenBegan(exchange, head);
  }

  /** `bytes` is given away. */
  specimenGrew(exchange: ExchangeId, bytes: Uint8Array): void {
    this.#shadow.specimenGrew(exchange, bytes);
  }

  specimenEnded(exchange: ExchangeId): void {
    this.#shadow.specimenEnded(exchange);
  }

  /** When `expire` has something to do next, in the time of `now`; null where nothing is due ever. */
  get nextDeadline(): number | null {
    return this.#board.deadlines.nextAt;
  }

  expire(now: number): void {
    expire(this.#board, now);
    admitQueued(this.#board, now);
  }

  /** Ends every flight that still runs: callers with bytes are cut, captures stop, the others are released in turn. */
  breakOffAll(now: number): void {
    const state = { phase: 'releasing', reason: 'draining' } as const;
    for (const flight of this.#board.flights.values()) {
      if (flight.ending === null) breakOff(this.#board, flight, { ending: 'cut', state, now });
    }
  }

  /** Takes the effects that have come up since the last call, in order. */
  takeEffects(): readonly Effect[] {
    const { effects } = this.#board;
    if (effects.length > 0) this.#board.effects = [];
    return effects;
  }

  get totals(): Totals {
    const { flights, replayBytes, admission } = this.#board;
    let waiters = 0;
    let queue = admission.queueLength;
    for (const flight of flights.values()) {
      waiters += waitersOf(flight);
      if (flight.state.phase === 'admitting') queue += 1;
    }
    return {
      flights: flights.size + this.#shadow.size,
      waiters,
      replayBytes: replayBytes + this.#shadow.heldBytes,
      queue,
    };
  }

  /** Of the flight that has been open longest, in milliseconds; 0 without one. What has ended and is only read is none. */
  oldestAge(now: number): number {
    // In the order in which they began.
    for (const { ending, begunAt } of this.#board.flights.values()) if (ending === null) return now - begunAt;
    return 0;
  }

  lines(now: number): FlightLine[] {
    return [...this.#board.flights.values()].map((flight) => ({
      id: flight.id,
      key8: flight.key.slice(0, 8),
      leg: flight.leg,
      phase: flight.state.phase,
      fleet: flight.fleet.role,
      ageMs: now - flight.begunAt,
      waiters: waitersOf(flight),
      bytes: 'answer' in flight.state ? flight.state.answer.buffer.length : 0,
      model: flight.model,
      policy: flight.policy.name,
    }));
  }
}
