/** A flight table in the hands of a test: it has the clock, the names count up, and the effects stay until looked at. */

import type { AnswerHead, CallerRole, ExchangeId, FlightId, Leg, Ticket } from '../../src/coalesce/flight/flight.ts';
import type { Key } from '../../src/coalesce/key/key.ts';
import type { HeaderList } from '../../src/coalesce/request/head.ts';
import type { Tenant } from '../../src/coalesce/request/tenant.ts';
import { createBoard, type Board, type TableLimits } from '../../src/coalesce/table/board.ts';
import type { Delivery } from '../../src/coalesce/table/delivering.ts';
import type { Command, Effect, Fact } from '../../src/coalesce/table/effects.ts';
import { FlightTable } from '../../src/coalesce/table/flight-table.ts';
import type { FleetNews } from '../../src/coalesce/table/fleet/fleet-news.ts';
import type { Arrival, Decision, Redemption } from '../../src/coalesce/table/joining.ts';
import { sampleHead, samplePolicy } from './request-samples.ts';

export const tableLimits: TableLimits = {
  maxWaitersTotal: 10_000,
  maxGenerations: 4,
  maxFlights: 10_000,
  maxReplayBytes: 8 * 1024 * 1024,
  maxReplayBytesTotal: 256 * 1024 * 1024,
  maxRequestBytesTotal: 256 * 1024 * 1024,
  ticketTtlMs: 10_000,
  releaseRate: 50,
  maxPromotions: 3,
  orphanGraceMs: 2_000,
  admission: { maxUpstream: 0, maxQueue: 1_000, maxWaitMs: 30_000 },
};

const commandKinds: ReadonlySet<string> = new Set<Command['kind']>([
  'wake',
  'promote',
  'release',
  'refuse',
  'cut',
  'stopCapture',
  'startCall',
  'cancelCall',
  'holdCall',
  'resumeCall',
  'claim',
  'leave',
  'holdReading',
  'resumeReading',
  'publishHead',
  'publishBytes',
  'publishEnd',
  'publishFailure',
  'closeJoining',
  'takeSlot',
  'giveSlotBack',
]);

export function isCommand(effect: Effect): effect is Command {
  return commandKinds.has(effect.kind);
}

export function keyNamed(name: string): Key {
  return name.padEnd(64, '0') as Key;
}

export function tenantNamed(name: string): Tenant {
  return name.padEnd(64, '0') as Tenant;
}

/** An answer's head: 200, an event stream of unknown length, with changes. */
export function answerHead(changes: Partial<AnswerHead> = {}): AnswerHead {
  return {
    status: '200',
    headers: [['content-type', 'text/event-stream']],
    contentLength: null,
    announcesTrailers: false,
    ...changes,
  };
}

export interface Aboard {
  readonly exchange: ExchangeId;
  readonly flight: FlightId;
  readonly role: CallerRole;
}

export class FlightDeck {
  readonly table: FlightTable;
  /** What the table keeps, for who looks behind it. */
  readonly books: Board;
  now = 0;
  /** What the core draws next, from 0 up to 1. */
  chance = 0.5;
  /** Flights whose answers other instances read. */
  readonly readElsewhere: Set<FlightId> = new Set();
  #names = 0;
  #exchanges = 0;
  #effects: Effect[] = [];

  constructor(leg: Leg, limits: Partial<TableLimits> = {}, sharesFlights: boolean = false) {
    const names = {
      flight: () => `f${(this.#names += 1)}` as FlightId,
      ticket: () => `t${(this.#names += 1)}` as Ticket,
    };
    const isReadElsewhere = (flight: FlightId): boolean => this.readElsewhere.has(flight);
    const options = {
      leg,
      sharesFlights,
      isReadElsewhere,
      names,
      random: () => this.chance,
      limits: { ...tableLimits, ...limits },
    };
    this.books = createBoard(options);
    this.table = new FlightTable(options, this.books);
  }

  get leg(): Leg {
    return this.table.leg;
  }

  newExchange(): ExchangeId {
    return (this.#exchanges += 1) as ExchangeId;
  }

  /** A new exchange asks decide. All have the same key and tenant unless `changes` say otherwise. */
  arrive(changes: Partial<Arrival> = {}): { exchange: ExchangeId; decision: Decision } {
    const exchange = this.newExchange();
    const arrival: Arrival = {
      exchange,
      tenant: tenantNamed('a'),
      key: keyNamed('k'),
      policy: samplePolicy(),
      model: 'gpt-4o-mini',
      errorShape: 'openai',
      usage: { answer: null, stream: null },
      rawDigest: 'raw',
      binding: 'binding',
      request: { head: sampleHead(), body: Buffer.from('{}') },
      ...changes,
    };
    return { exchange, decision: this.table.decide(arrival, this.now) };
  }

  /** Attached: an exchange that leads a flight at once. */
  lead(changes: Partial<Arrival> = {}): { exchange: ExchangeId; flight: FlightId } {
    const { exchange, decision } = this.arrive(changes);
    if (decision.kind !== 'lead') throw new Error(`it does not lead: ${JSON.stringify(decision)}`);
    return { exchange, flight: decision.flight };
  }

  /** An exchange that got a ticket and is not in deliver yet. */
  hold(changes: Partial<Arrival> = {}): Extract<Decision, { kind: 'board' }> {
    const { decision } = this.arrive(changes);
    if (decision.kind !== 'board') throw new Error(`it gets no ticket: ${JSON.stringify(decision)}`);
    return decision;
  }

  redeem(ticket: string, binding = 'binding'): { exchange: ExchangeId; redemption: Redemption } {
    const exchange = this.newExchange();
    return { exchange, redemption: this.table.redeem({ ticket, binding, exchange }, this.now) };
  }

  /** An exchange in deliver. */
  board(changes: Partial<Arrival> = {}): Aboard {
    const { exchange, redemption } = this.redeem(this.hold(changes).ticket, changes.binding);
    if (redemption.kind !== 'aboard') throw new Error('its ticket is unknown');
    return { exchange, flight: redemption.flight, role: redemption.role };
  }

  leave(exchange: ExchangeId): void {
    this.table.exchangeEnded(exchange, this.now);
  }

  began(flight: FlightId, head: Partial<AnswerHead> = {}, endOfStream = false): void {
    this.table.answerBegan(flight, { head: answerHead(head), endOfStream, now: this.now });
  }

  grew(flight: FlightId, text: string): void {
    this.table.answerGrew(flight, { bytes: Buffer.from(text), now: this.now });
  }

  ended(flight: FlightId, trailers: HeaderList | null = null): void {
    this.table.answerEnded(flight, { trailers, now: this.now });
  }

  /** The fleet says something of a flight. */
  hear(flight: FlightId, news: Heard): void {
    this.table.hearFromFleet(flight, { ...named(news), now: this.now });
  }

  answeredByEnvoy(flight: FlightId): void {
    this.table.answeredByEnvoy(flight, this.now);
  }

  broke(flight: FlightId): void {
    this.table.answerBroke(flight, this.now);
  }

  pull(exchange: ExchangeId): Delivery {
    return this.table.pull(exchange, this.now);
  }

  /** All that is there for an exchange: the body's text, and whether it came to its end. */
  drink(exchange: ExchangeId): { text: string; ended: boolean } {
    let text = '';
    for (;;) {
      const piece = this.pull(exchange);
      if (piece.kind === 'nothing') return { text, ended: false };
      if (piece.kind === 'keepAlive') continue;
      if (piece.kind === 'bytes') text += Buffer.from(piece.bytes).toString();
      if (piece.kind === 'end' || piece.kind === 'trailers' || piece.endOfStream) return { text, ended: true };
    }
  }

  /** Lets time pass; what falls due is ended when it is due, as the shell's timer does it. */
  pass(ms: number): void {
    const until = this.now + ms;
    for (let due = this.table.nextDeadline; due !== null && due <= until; due = this.table.nextDeadline) {
      this.now = Math.max(this.now, due);
      this.table.expire(this.now);
    }
    this.now = until;
  }

  /** The commands since the last look, in order. */
  commands(): Command[] {
    return this.#take(isCommand);
  }

  /** The facts since the last look, in order. */
  facts(): Fact[] {
    return this.#take((effect): effect is Fact => !isCommand(effect));
  }

  /** Which endings flights came to since the last look at the facts. */
  endings(): string[] {
    return this.facts().flatMap((fact) => (fact.kind === 'flightEnded' ? [fact.report.ending] : []));
  }

  /** The phase of each flight that is still held, oldest first. */
  phases(): string[] {
    return this.table.lines(this.now).map((line) => line.phase);
  }

  #take<Kind extends Effect>(wanted: (effect: Effect) => effect is Kind): Kind[] {
    this.#effects.push(...this.table.takeEffects());
    const taken = this.#effects.filter(wanted);
    this.#effects = this.#effects.filter((effect) => !wanted(effect));
    return taken;
  }
}

export const nothingHeld: FlightTable['totals'] = { flights: 0, waiters: 0, replayBytes: 0, queue: 0 };

type Heard = Exclude<FleetNews, { fleetFlight: string }> | { readonly kind: 'led' | 'followed' };

function named(news: Heard): FleetNews {
  switch (news.kind) {
    case 'led':
    case 'followed':
      return { kind: news.kind, fleetFlight: 'f' };
    default:
      return news;
  }
}
