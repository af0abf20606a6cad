/**
 * The smallest shell that a flight table can have, in memory: exchanges that pull what they are woken for or dawdle, an
 * upstream whose answers are known byte by byte, and a check of each command when it is carried out.
 */

import type { ExchangeId, FlightId, Leg } from '../../src/coalesce/flight/flight.ts';
import type { TableLimits } from '../../src/coalesce/table/board.ts';
import type { Command, Effect, Fact } from '../../src/coalesce/table/effects.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';
import type { Loss } from '../../src/coalesce/table/fleet/losing.ts';
import type { Decision } from '../../src/coalesce/table/joining.ts';
import { FlightDeck, isCommand, keyNamed, tenantNamed } from './flight-deck.ts';
import { Judge, type Invariant } from './flight-judge.ts';
import { count, countEffect, type Tally } from './flight-tally.ts';
import { headFor, policyOf, textOf, type Options } from './flight-questions.ts';
import { FlightFleet } from './flight-fleet.ts';
import { drink, type Call, type Rider, type Sent } from './flight-rider.ts';

interface Pass {
  readonly ticket: string;
  readonly binding: string;
  readonly question: string;
  readonly slow: boolean;
}

interface Setting {
  readonly leg: Leg;
  readonly sharesFlights: boolean;
  readonly limits: TableLimits;
  readonly options: Options;
}

interface Making {
  /** Stands for a broken shell or table: what it returns is carried out in the effect's place. */
  readonly tamper?: ((effect: Effect) => readonly Effect[]) | undefined;
  readonly only?: Invariant | undefined;
  readonly tally?: Tally | undefined;
}

export class FlightWorld {
  readonly deck: FlightDeck;
  readonly judge: Judge;
  readonly tally: Tally;
  readonly policy: Policy;
  /** As the operator has set them, whatever the table thinks. */
  limits: TableLimits;
  readonly riders: Map<ExchangeId, Rider> = new Map();
  readonly passes: Pass[] = [];
  readonly usedPasses: Pass[] = [];
  readonly calls: Map<FlightId, Call> = new Map();
  readonly sent: Map<FlightId, Sent> = new Map();
  readonly fleet: FlightFleet;
  /** Whether there ever was an admission limit: generations beyond the others may be left from then. */
  readonly wasLimited: boolean;
  readonly endedFlights: Set<FlightId> = new Set();
  /** Calls upstream that were caused: leads, promotions, started calls, releases. */
  callsCaused = 0;
  /** Calls upstream that the table told of. */
  callsTold = 0;
  readonly #tamper: ((effect: Effect) => readonly Effect[]) | undefined;
  readonly #over: Set<ExchangeId> = new Set();
  readonly #lastReleases: Map<string, number> = new Map();
  #arrivals = 0;

  constructor(setting: Setting, { tamper, only, tally }: Making = {}) {
    this.deck = new FlightDeck(setting.leg, setting.limits, setting.sharesFlights);
    this.limits = setting.limits;
    this.policy = policyOf(setting.options);
    this.wasLimited = setting.limits.admission.maxUpstream > 0;
    this.judge = new Judge(only);
    this.tally = tally ?? new Map();
    this.fleet = new FlightFleet(this);
    this.#tamper = tamper;
  }

  decide(options: { key: string; tenant: string; size: number; slow: boolean }): Decision {
    const question = `/${options.tenant}/${options.key}`;
    const binding = `b${(this.#arrivals += 1)}`;
    const request = { head: headFor(question), body: Buffer.alloc(options.size) };
    const [tenant, key] = [tenantNamed(options.tenant), keyNamed(options.key)];
    const { exchange, decision } = this.deck.arrive({ key, tenant, policy: this.policy, binding, request });
    count(this.tally, `decisions: ${decision.kind}`);
    if (decision.kind === 'board') this.passes.push({ ticket: decision.ticket, binding, question, slow: options.slow });
    if (decision.kind === 'lead') {
      this.#startLeading(this.#ride({ exchange, question, slow: options.slow }), decision.flight);
    }
    this.settle();
    return decision;
  }

  redeem(pick: number, stolen: boolean): void {
    const pass = this.passes[pick % this.passes.length];
    if (pass === undefined) return;
    if (stolen) {
      const { redemption } = this.deck.redeem(pass.ticket, 'stolen');
      this.judge.demand('own key', redemption.kind === 'unknown', 'a stolen ticket is unknown');
      return;
    }
    this.passes.splice(this.passes.indexOf(pass), 1);
    this.usedPasses.push(pass);
    const { exchange, redemption } = this.deck.redeem(pass.ticket, pass.binding);
    count(this.tally, `tickets: ${redemption.kind}`);
    if (redemption.kind === 'aboard') this.#ride({ exchange, question: pass.question, slow: pass.slow });
    this.settle();
  }

  redeemAgain(pick: number): void {
    const pass = this.usedPasses[pick % this.usedPasses.length];
    if (pass === undefined) return;
    const { redemption } = this.deck.redeem(pass.ticket, pass.binding);
    this.judge.demand('one ending', redemption.kind === 'unknown', 'a used ticket is unknown');
  }

  /** An exchange's client hangs up, or its upstream breaks. */
  leave(exchange: ExchangeId): void {
    count(this.tally, 'callers that left');
    this.#end(exchange);
    this.settle();
  }

  /** The upstream answers: head, with a promised length or none. */
  begin(call: Call, options: { length: number | null; endOfStream: boolean; status: string; events: boolean }): void {
    if (call.phase !== 'silent') return;
    call.phase = 'answering';
    call.length = options.endOfStream ? 0 : options.length;
    this.sent.set(call.flight, { question: call.question, text: '', whole: false });
    const isAll = call.length === 0;
    if (isAll) this.#finishCall(call);
    const type = options.events ? 'text/event-stream' : 'application/json';
    const headers = [['x-flight', call.flight] as const, ['content-type', type] as const];
    const head = { status: options.status, headers, contentLength: call.length, announcesTrailers: false };
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
    this.limits = limits;
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
    else this.#forget(call);
    this.#endOfAnswer(call, trailers);
    this.settle();
  }

  break(call: Call): void {
    if (call.isAfar) return this.lose(call.flight, 'gave_up');
    count(this.tally, 'upstream breaks');
    this.calls.delete(call.flight);
    if (call.leader === null) this.deck.broke(call.flight);
    else this.#end(call.leader);
    this.settle();
  }

  answerClaim(flight: FlightId, answer: 'led' | 'followed' | 'stoodAlone'): void {
    this.fleet.answerClaim(flight, answer);
    this.settle();
  }

  /** The leader of a flight that follows here is gone, in another instance. */
  lose(flight: FlightId, why: Loss): void {
    count(this.tally, `losses: ${why}`);
    this.fleet.claims.delete(flight);
    this.fleet.afar.delete(flight);
    this.deck.hear(flight, { kind: 'lost', why });
    this.settle();
  }

  grantSlot(flight: FlightId): void {
    if (this.fleet.slots.get(flight) !== 'asked') return;
    count(this.tally, 'slots of the fleet');
    this.fleet.slots.set(flight, 'granted');
    this.deck.hear(flight, { kind: 'slotGranted' });
    this.settle();
  }

  /** Other instances begin to read what a flight publishes, or read no more. */
  watch(flight: FlightId, isWatched: boolean): void {
    if (isWatched) this.deck.readElsewhere.add(flight);
    else this.deck.readElsewhere.delete(flight);
  }

  pull(exchange: ExchangeId): void {
    const rider = this.riders.get(exchange);
    if (rider?.role === 'caller') this.#drink(rider);
    this.settle();
  }

  /** Those who were woken take all that there is, slow or not. */
  drinkAll(): void {
    for (const rider of this.riders.values()) if (rider.woken && rider.role === 'caller') this.#drink(rider);
    this.settle();
  }

  /** Time passes. `late`: the shell's timer sleeps meanwhile, and is overtaken by other events. */
  pass(ms: number, late: boolean, checkpoint: () => void): void {
    const until = this.deck.now + ms;
    const { table } = this.deck;
    for (let due = table.nextDeadline; !late && due !== null && due <= until; due = table.nextDeadline) {
      this.deck.now = Math.max(this.deck.now, due);
      table.expire(this.deck.now);
      this.settle();
      const isStuck = (table.nextDeadline ?? Infinity) <= this.deck.now;
      this.judge.demand('limits', !isStuck, 'nothing is due after expire');
      if (isStuck) break;
      checkpoint();
    }
    this.deck.now = until;
  }

  settle(): void {
    const { table } = this.deck;
    for (let effects = table.takeEffects(); effects.length > 0; effects = table.takeEffects()) {
      for (const effect of this.#tamper === undefined ? effects : effects.flatMap(this.#tamper)) {
        countEffect(this.tally, effect);
        if (isCommand(effect)) this.#carryOut(effect);
        else this.#note(effect);
      }
    }
  }

  #ride(at: { exchange: ExchangeId; question: string; slow: boolean }): Rider {
    const rider: Rider = { ...at, role: 'caller', woken: false, source: null, got: 0, takesComments: false };
    this.riders.set(at.exchange, rider);
    return rider;
  }

  #startLeading(rider: Rider, flight: FlightId): void {
    rider.role = 'leader';
    this.#startCall({ flight, leader: rider.exchange, question: rider.question });
  }

  #startCall(by: { flight: FlightId; leader: ExchangeId | null; question: string }): void {
    this.judge.demand('one flight', !this.calls.has(by.flight), 'calls once at a time', by.flight);
    const { maxUpstream, scope } = this.limits.admission;
    const needsSlot = this.deck.books.sharesFlights && maxUpstream > 0 && scope === 'fleet';
    const hasSlot = !needsSlot || this.fleet.slots.get(by.flight) === 'granted';
    this.judge.demand('limits', hasSlot, 'calls in a slot of the fleet', by.flight);
    this.callsCaused += 1;
    this.calls.set(by.flight, { ...by, phase: 'silent', length: null, held: false, isAfar: false });
  }

  #end(exchange: ExchangeId): void {
    if (!this.riders.delete(exchange)) return;
    this.#over.add(exchange);
    for (const call of this.calls.values()) if (call.leader === exchange) this.calls.delete(call.flight);
    this.deck.leave(exchange);
  }

  #forget({ flight, isAfar }: Call): void {
    (isAfar ? this.fleet.afar : this.calls).delete(flight);
    if (isAfar) this.fleet.claims.delete(flight);
  }

  #finishCall(call: Call): void {
    this.#forget(call);
    const sent = this.sent.get(call.flight);
    if (sent !== undefined) sent.whole = true;
  }

  #endOfAnswer(call: Call, trailers: boolean): void {
    this.deck.ended(call.flight, trailers ? [['x-t', '1']] : null);
    if (call.leader !== null) this.#end(call.leader);
  }

  #note(fact: Fact): void {
    if (fact.kind === 'upstreamCalled') this.callsTold += 1;
    this.judge.demand('books', fact.kind !== 'invariantBroken', 'the table finds no bug in itself');
    if (fact.kind !== 'flightEnded') return;
    this.judge.demand('one ending', !this.endedFlights.has(fact.report.id), 'ends once', fact.report.id);
    this.endedFlights.add(fact.report.id);
  }

  #carryOut(command: Command): void {
    switch (command.kind) {
      case 'startCall':
        this.#startCall({ flight: command.flight, leader: null, question: command.request.head.path });
        return;
      case 'cancelCall':
        this.calls.delete(command.flight);
        return;
      case 'holdCall':
      case 'resumeCall':
        this.#hold(command);
        return;
      default:
        if ('exchange' in command) this.#reach(command);
        else this.fleet.carryOut(command);
    }
  }

  #hold({ kind, flight }: Extract<Command, { kind: 'holdCall' | 'resumeCall' }>): void {
    const call = this.calls.get(flight);
    if (call === undefined) return;
    this.judge.demand('books', call.leader === null, 'only a detached call is held up');
    this.judge.demand('books', call.held === (kind === 'resumeCall'), 'in turn', kind);
    call.held = kind === 'holdCall';
  }

  /** As the server does it: who is gone is not reached, and whoever has had its last word is gone. */
  #reach(command: Extract<Command, { exchange: ExchangeId }>): void {
    const { kind, exchange } = command;
    const rider = this.riders.get(exchange);
    if (rider === undefined) {
      const isLast = kind !== 'wake' && kind !== 'stopCapture';
      this.judge.demand('one ending', !isLast || !this.#over.has(exchange), 'after the last word', kind);
      return;
    }
    const role = kind === 'stopCapture' ? 'leader' : 'caller';
    this.judge.demand('books', rider.role === role, 'reaches the right role', kind);
    if (kind !== 'wake' && kind !== 'stopCapture') {
      const fits = (rider.source !== null) === (kind === 'cut');
      this.judge.demand('prefix', fits, 'does not fit what the caller has', kind);
    }
    if (kind === 'wake') {
      rider.woken = true;
      if (!rider.slow) this.#drink(rider);
    } else if (kind === 'promote') this.#startLeading(rider, command.flight);
    else {
      if (kind === 'release') this.#release(rider, command.reason);
      this.#end(exchange);
    }
  }

  /** Those whose wait has come to its end go at once, whoever went before. */
  #release({ question }: Rider, reason: 'limit' | 'egress_down' | 'draining'): void {
    this.callsCaused += 1;
    if (reason === 'limit') return;
    const turnMs = 1000 / this.limits.releaseRate;
    const pace = this.#paceOf(question);
    const last = this.#lastReleases.get(pace) ?? -Infinity;
    this.judge.demand('limits', this.deck.now - last >= turnMs, 'release_rate holds');
    this.#lastReleases.set(pace, this.deck.now);
  }

  /** Keys are the same for all tenants here, and so is their pace. */
  #paceOf(question: string): string {
    return question.slice(question.lastIndexOf('/'));
  }

  #drink(rider: Rider): void {
    if (drink(rider, this) === 'over') this.#end(rider.exchange);
  }
}
