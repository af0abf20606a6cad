/**
 * The smallest shell that a flight table can have, in memory: exchanges that pull what they are woken for or dawdle, an
 * upstream whose answers are known byte by byte, and a check of each command when it is carried out.
 */

import type { ExchangeId, FlightId, Leg } from '../../src/coalesce/flight/flight.ts';
import type { Key } from '../../src/coalesce/key/key.ts';
import type { TableLimits } from '../../src/coalesce/table/board.ts';
import type { Command, Effect, Fact } from '../../src/coalesce/table/effects.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';
import type { Decision } from '../../src/coalesce/table/joining.ts';
import { FlightDeck, isCommand, keyNamed, tenantNamed } from './flight-deck.ts';
import { sampleHead, samplePolicy } from './request-samples.ts';

export class Violation extends Error {}

export function demand(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Violation(what);
}

/** An exchange that the table knows as a caller in deliver or as an attached leader. */
export interface Rider {
  readonly exchange: ExchangeId;
  readonly key: Key;
  /** It pulls only when the schedule says so. */
  readonly slow: boolean;
  role: 'caller' | 'leader';
  /** It was woken, and has not been told `nothing` since. */
  woken: boolean;
  /** Whose answer it gets; null before the head. */
  source: FlightId | null;
  got: string;
  takesComments: boolean;
}

interface Pass {
  readonly ticket: string;
  readonly binding: string;
  readonly key: Key;
  readonly slow: boolean;
}

/** An upstream call that runs, and what it has sent. */
export interface Call {
  readonly flight: FlightId;
  readonly leader: ExchangeId | null;
  phase: 'silent' | 'answering';
  length: number | null;
  /** Nothing more of its answer is read for now. */
  held: boolean;
}

/** What the upstream sent for a flight, over all its calls that the table listened to. */
interface Sent {
  text: string;
  whole: boolean;
}

/** What a schedule's policy turns on. */
export interface Options {
  readonly retries: boolean;
  readonly negativeCache: boolean;
  readonly keepAlive: boolean;
}

function policyOf({ retries, negativeCache, keepAlive }: Options): Policy {
  return samplePolicy({
    maxWaiters: 4,
    lateJoin: { maxEvents: 1000, maxBytes: 60, maxAgeMs: 3_000 },
    deadlines: { firstByteMs: 4_000, idleMs: 2_000, totalMs: 9_000, waitMs: 6_000, keepAliveMs: keepAlive ? 700 : 0 },
    retry: { maxAttempts: retries ? 3 : 1, on: ['connect_failure', '503'], backoffMs: 200 },
    negativeCache: { ttlMs: negativeCache ? 800 : 0, statuses: [400], maxEntries: 2 },
  });
}

export class FlightWorld {
  readonly deck: FlightDeck;
  readonly policy: Policy;
  readonly riders: Map<ExchangeId, Rider> = new Map();
  readonly passes: Pass[] = [];
  readonly usedPasses: Pass[] = [];
  readonly calls: Map<FlightId, Call> = new Map();
  readonly sent: Map<FlightId, Sent> = new Map();
  /** Of every flight that was ever seen. */
  readonly keys: Map<FlightId, Key> = new Map();
  /** Whether there ever was an admission limit: generations beyond the others may be left from then. */
  wasLimited: boolean;
  readonly endedFlights: Set<FlightId> = new Set();
  readonly facts: Fact[] = [];
  /** Calls upstream that were caused: leads, promotions, started calls, releases. */
  callsCaused = 0;
  readonly #tamper: (effect: Effect) => readonly Effect[];
  #arrivals = 0;

  /** `tamper` stands for a broken shell or table: what it returns is carried out in the effect's place. */
  constructor(
    setting: { leg: Leg; limits: TableLimits; options: Options },
    tamper: (effect: Effect) => readonly Effect[] = (effect) => [effect],
  ) {
    this.deck = new FlightDeck(setting.leg, setting.limits);
    this.policy = policyOf(setting.options);
    this.wasLimited = setting.limits.admission.maxUpstream > 0;
    this.#tamper = tamper;
  }

  decide(options: { key: string; tenant: string; size: number; slow: boolean }): Decision {
    const key = keyNamed(`${options.tenant}${options.key}`);
    const binding = `b${(this.#arrivals += 1)}`;
    const request = { head: sampleHead(), body: Buffer.alloc(options.size) };
    const arrival = { key, tenant: tenantNamed(options.tenant), policy: this.policy, binding, request };
    const { exchange, decision } = this.deck.arrive(arrival);
    if (decision.kind === 'board') this.passes.push({ ticket: decision.ticket, binding, key, slow: options.slow });
    if (decision.kind === 'lead') {
      this.#ride({ exchange, key, slow: options.slow });
      this.#startLeading(exchange, decision.flight);
    }
    this.settle();
    return decision;
  }

  redeem(pick: number, stolen: boolean): void {
    const pass = this.passes[pick % this.passes.length];
    if (pass === undefined) return;
    if (stolen) {
      demand(this.deck.redeem(pass.ticket, 'stolen').redemption.kind === 'unknown', 'a stolen ticket is unknown');
      return;
    }
    this.passes.splice(this.passes.indexOf(pass), 1);
    this.usedPasses.push(pass);
    const { exchange, redemption } = this.deck.redeem(pass.ticket, pass.binding);
    if (redemption.kind === 'aboard') this.#ride({ exchange, key: pass.key, slow: pass.slow });
    this.settle();
  }

  redeemAgain(pick: number): void {
    const pass = this.usedPasses[pick % this.usedPasses.length];
    if (pass === undefined) return;
    demand(this.deck.redeem(pass.ticket, pass.binding).redemption.kind === 'unknown', 'a used ticket is unknown');
  }

  /** An exchange's client hangs up, or its upstream breaks. */
  leave(exchange: ExchangeId): void {
    this.#end(exchange);
    this.settle();
  }

  /** The upstream answers: head, with a promised length or none. */
  begin(call: Call, options: { length: number | null; endOfStream: boolean; status: string; events: boolean }): void {
    if (call.phase !== 'silent') return;
    call.phase = 'answering';
    call.length = options.endOfStream ? 0 : options.length;
    this.sent.set(call.flight, { text: '', whole: false });
    const isAll = call.length === 0;
    if (isAll) this.#finishCall(call);
    const type = options.events ? 'text/event-stream' : 'application/json';
    const headers = [['x-flight', call.flight] as const, ['content-type', type] as const];
    const head = { status: options.status, headers, contentLength: call.length };
    this.deck.began(call.flight, head, options.endOfStream);
    if (isAll) this.#endOfAnswer(call, false);
    this.settle();
  }

  /** Attached: Envoy itself answers the leader. */
  answerByEnvoy(call: Call): void {
    if (call.phase !== 'silent' || call.leader === null) return;
    this.calls.delete(call.flight);
    this.deck.answeredByEnvoy(call.flight);
    this.#end(call.leader);
    this.settle();
  }

  /** The operator raises limits, or lifts that on upstream calls. */
  raise(limits: TableLimits): void {
    this.deck.table.limitTo(limits, this.deck.now);
    this.settle();
  }

  grow(call: Call, size: number): void {
    const sent = this.sent.get(call.flight);
    if (call.phase !== 'answering' || call.held || sent === undefined) return;
    const room = call.length === null ? size : Math.min(size, call.length - sent.text.length);
    const text = textOf(call.flight, sent.text.length, room);
    sent.text += text;
    const isAll = sent.text.length === call.length;
    if (isAll) this.#finishCall(call);
    this.deck.grew(call.flight, text);
    if (isAll) this.#endOfAnswer(call, false);
    this.settle();
  }

  /** The upstream ends its answer; before its promised length that is a break. */
  end(call: Call, trailers: boolean): void {
    if (call.phase !== 'answering') return;
    if (call.length === null) this.#finishCall(call);
    else this.calls.delete(call.flight);
    this.#endOfAnswer(call, trailers);
    this.settle();
  }

  break(call: Call): void {
    this.calls.delete(call.flight);
    if (call.leader === null) this.deck.broke(call.flight);
    else this.#end(call.leader);
    this.settle();
  }

  pull(exchange: ExchangeId): void {
    const rider = this.riders.get(exchange);
    if (rider?.role === 'caller') this.#drink(rider);
    this.settle();
  }

  /** Time passes. `late`: the shell's timer sleeps meanwhile, and is overtaken by other events. */
  pass(ms: number, late: boolean, checkpoint: () => void): void {
    const until = this.deck.now + ms;
    const { table } = this.deck;
    while (!late && table.nextDeadline !== null && table.nextDeadline <= until) {
      this.deck.now = Math.max(this.deck.now, table.nextDeadline);
      table.expire(this.deck.now);
      this.settle();
      demand((table.nextDeadline ?? Infinity) > this.deck.now, 'nothing is due after expire');
      checkpoint();
    }
    this.deck.now = until;
  }

  settle(): void {
    const { table } = this.deck;
    for (let effects = table.takeEffects(); effects.length > 0; effects = table.takeEffects()) {
      for (const effect of effects.flatMap(this.#tamper)) {
        if (isCommand(effect)) this.#carryOut(effect);
        else this.#note(effect);
      }
    }
  }

  #ride(at: { exchange: ExchangeId; key: Key; slow: boolean }): void {
    this.riders.set(at.exchange, { ...at, role: 'caller', woken: false, source: null, got: '', takesComments: false });
  }

  #startLeading(exchange: ExchangeId, flight: FlightId): void {
    const rider = this.riders.get(exchange);
    if (rider !== undefined) rider.role = 'leader';
    this.callsCaused += 1;
    this.calls.set(flight, { flight, leader: exchange, phase: 'silent', length: null, held: false });
  }

  #end(exchange: ExchangeId): void {
    if (!this.riders.delete(exchange)) return;
    for (const call of this.calls.values()) if (call.leader === exchange) this.calls.delete(call.flight);
    this.deck.leave(exchange);
  }

  #finishCall(call: Call): void {
    this.calls.delete(call.flight);
    const sent = this.sent.get(call.flight);
    if (sent !== undefined) sent.whole = true;
  }

  #endOfAnswer(call: Call, trailers: boolean): void {
    this.deck.ended(call.flight, trailers ? [['x-t', '1']] : null);
    if (call.leader !== null) this.#end(call.leader);
  }

  #note(fact: Fact): void {
    this.facts.push(fact);
    if (fact.kind !== 'flightEnded') return;
    demand(!this.endedFlights.has(fact.report.id), `flight ${fact.report.id} ends once`);
    this.endedFlights.add(fact.report.id);
  }

  #carryOut(command: Command): void {
    switch (command.kind) {
      case 'startCall':
        this.callsCaused += 1;
        this.calls.set(command.flight, {
          flight: command.flight,
          leader: null,
          phase: 'silent',
          length: null,
          held: false,
        });
        return;
      case 'cancelCall':
        this.calls.delete(command.flight);
        return;
      case 'holdCall':
      case 'resumeCall':
        this.#hold(command);
        return;
      default:
        this.#reach(command);
    }
  }

  #hold({ kind, flight }: Extract<Command, { kind: 'holdCall' | 'resumeCall' }>): void {
    const call = this.calls.get(flight);
    if (call === undefined) return;
    demand(call.leader === null, 'only a detached call is held up');
    demand(call.held === (kind === 'resumeCall'), `${kind} in turn`);
    call.held = kind === 'holdCall';
  }

  /** As the server does it: who is gone is not reached, and whoever has had its last word is gone. */
  #reach(command: Extract<Command, { exchange: ExchangeId }>): void {
    const rider = this.riders.get(command.exchange);
    if (rider === undefined) return;
    const { kind, exchange } = command;
    demand(rider.role === (kind === 'stopCapture' ? 'leader' : 'caller'), `${kind} reaches the right role`);
    if (kind !== 'wake' && kind !== 'stopCapture') {
      demand((rider.source !== null) === (kind === 'cut'), `${kind} does not fit what the caller has`);
    }
    if (kind === 'wake') {
      rider.woken = true;
      if (!rider.slow) this.#drink(rider);
    } else if (kind === 'promote') this.#startLeading(exchange, command.flight);
    else {
      if (kind === 'release') this.callsCaused += 1;
      this.#end(exchange);
    }
  }

  #drink(rider: Rider): void {
    for (;;) {
      const piece = this.deck.pull(rider.exchange);
      if (piece.kind === 'nothing') {
        rider.woken = false;
        return;
      }
      if (piece.kind === 'head') {
        demand(rider.source === null, 'one head');
        rider.source = (piece.head.headers[0]?.[1] ?? '') as FlightId;
        rider.takesComments = piece.head.headers[1]?.[1] === 'text/event-stream' && piece.head.contentLength === null;
        demand(this.keys.get(rider.source) === rider.key, 'an answer reaches callers of its key only');
      } else demand(rider.source !== null, 'the head comes first');
      if (piece.kind === 'keepAlive') {
        demand(rider.takesComments && rider.got.length % 16 === 0, 'a comment stands between events');
        continue;
      }
      if (piece.kind === 'bytes') rider.got += Buffer.from(piece.bytes).toString();
      const sent = rider.source === null ? undefined : this.sent.get(rider.source);
      demand(sent?.text.startsWith(rider.got) === true, 'what a caller got is a prefix of its flight’s answer');
      if (piece.kind === 'end' || piece.kind === 'trailers' || piece.endOfStream) {
        demand(sent.whole && sent.text === rider.got, 'a clean end comes after the whole answer only');
        this.#end(rider.exchange);
        return;
      }
    }
  }
}

/** The answer's text from a place on: different for each flight, and nowhere the same twice. */
function textOf(flight: FlightId, from: number, length: number): string {
  let text = '';
  for (let line = Math.floor(from / 16); text.length < (from % 16) + length; line += 1)
    text += `${flight}:${line}`.padEnd(14) + '\n\n';
  return text.slice(from % 16, (from % 16) + length);
}
