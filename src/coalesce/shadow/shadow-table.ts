/**
 * What would have been shared: under shadow every exchange goes its own way, and this table says whether a flight under its
 * key would have been there to join. Of a share of those flights it compares the answers that went their own ways.
 *
 * The leader has to be captured before anybody knows whether it will be followed, and an answer's head has to be asked for
 * before the key is known. So the share is drawn at the head; while a drawn exchange is about, the heads of others are asked
 * for too, in case they follow it. Those that turn out not to are let go with their head as it came.
 */

import { differenceOf } from '../answer/assembled.ts';
import type { AnswerHead, ExchangeId, FlightId } from '../flight/flight.ts';
import type { Key } from '../key/key.ts';
import type { Usage } from '../profiles/profile.ts';
import type { Policy } from '../request/policy.ts';
import type { Tenant } from '../request/tenant.ts';
import type { Comparison, WouldBeHit } from './comparison.ts';
import { Specimen, type Finding } from './specimen.ts';

export interface ShadowArrival {
  readonly exchange: ExchangeId;
  readonly tenant: Tenant;
  readonly key: Key;
  readonly policy: Policy;
  readonly model: string;
  readonly route: string | null;
  readonly usage: Usage;
}

/** What an exchange would have been, and whether its answer is to be captured. */
export interface Would {
  readonly role: 'leader' | 'follower';
  readonly flight: FlightId;
  readonly isCompared: boolean;
}

export interface ShadowOptions {
  /** Would-be flights that are remembered at once; those beyond are not counted. */
  readonly maxFlights: number;
  /** Of all captured answers together. */
  readonly maxBytes: number;
  readonly name: () => FlightId;
  readonly tell: (comparison: Comparison) => void;
}

type Fit = Extract<Finding, { kind: 'fit' }>;

interface WouldBeFlight {
  readonly id: FlightId;
  readonly place: string;
  readonly isCompared: boolean;
  /** Callers whose answers were or are captured besides the leader's. */
  compared: number;
  /** Null until the leader's answer is over. */
  leaderSays: Finding | null;
  /** Answers that were over before the leader's. */
  readonly early: { readonly hit: WouldBeHit; readonly finding: Fit }[];
}

interface Captured {
  readonly specimen: Specimen;
  readonly flight: WouldBeFlight;
  readonly usage: Usage;
  /** Null: the would-be leader. */
  readonly hit: WouldBeHit | null;
}

export class ShadowTable {
  readonly #options: ShadowOptions;
  readonly #flights = new Map<string, WouldBeFlight>();
  readonly #leads = new Map<ExchangeId, WouldBeFlight>();
  /** Exchanges that were drawn and are not known to follow. */
  readonly #drawn = new Set<ExchangeId>();
  /** Exchanges whose answer's head was asked for. */
  readonly #asked = new Set<ExchangeId>();
  readonly #captured = new Map<ExchangeId, Captured>();
  #heldBytes = 0;

  constructor(options: ShadowOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#flights.size;
  }

  /** Bytes of captured answers. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether the head of this exchange's answer is to be asked for. `chance`: from 0 up to, but not including, 1. */
  draw(exchange: ExchangeId, { compare, chance }: { compare: number; chance: number }): boolean {
    if (chance < compare) this.#drawn.add(exchange);
    if (this.#drawn.size === 0) return false;
    this.#asked.add(exchange);
    return true;
  }

  /** What `exchange` would have become. It has to be ended by `end`. */
  begin(arrival: ShadowArrival): Would {
    const place = `${arrival.tenant}${arrival.key}`;
    const flight = this.#flights.get(place);
    return flight === undefined ? this.#lead(arrival, place) : this.#follow(arrival, flight);
  }

  #lead(arrival: ShadowArrival, place: string): Would {
    const { exchange } = arrival;
    const isRemembered = this.#flights.size < this.#options.maxFlights;
    const isCompared = isRemembered && this.#drawn.has(exchange);
    const id = this.#options.name();
    const flight: WouldBeFlight = { id, place, isCompared, compared: 0, leaderSays: null, early: [] };
    if (isRemembered) {
      this.#flights.set(place, flight);
      this.#leads.set(exchange, flight);
    }
    if (isCompared) this.#capture(arrival, flight, null);
    return { role: 'leader', flight: id, isCompared };
  }

  /** As many are compared as could be aboard: a burst is no more telling than that. */
  #follow(arrival: ShadowArrival, flight: WouldBeFlight): Would {
    const { exchange, policy, key, model, route } = arrival;
    this.#drawn.delete(exchange);
    const isCompared = flight.isCompared && this.#asked.has(exchange) && flight.compared < policy.maxWaiters;
    if (isCompared) {
      flight.compared += 1;
      const hit = { flight: flight.id, key8: key.slice(0, 8), model, route, policy: policy.name };
      this.#capture(arrival, flight, hit);
    }
    return { role: 'follower', flight: flight.id, isCompared };
  }

  #capture({ exchange, policy, usage }: ShadowArrival, flight: WouldBeFlight, hit: WouldBeHit | null): void {
    const specimen = new Specimen(policy.shadow.maxBytes);
    this.#captured.set(exchange, { specimen, flight, usage, hit });
  }

  specimenBegan(exchange: ExchangeId, head: AnswerHead): void {
    this.#captured.get(exchange)?.specimen.begin(head);
  }

  /** `bytes` is given away. */
  specimenGrew(exchange: ExchangeId, bytes: Uint8Array): void {
    const specimen = this.#captured.get(exchange)?.specimen;
    if (specimen === undefined) return;
    this.#heldBytes -= specimen.heldBytes;
    specimen.grow(bytes, this.#options.maxBytes - this.#heldBytes - specimen.heldBytes);
    this.#heldBytes += specimen.heldBytes;
  }

  /** The answer is whole. */
  specimenEnded(exchange: ExchangeId): void {
    const captured = this.#captured.get(exchange);
    if (captured !== undefined) this.#found(exchange, captured.specimen.finish(captured.usage));
  }

  /** The exchange is over, or nothing of this table's. */
  end(exchange: ExchangeId): void {
    this.#found(exchange, { kind: 'unfit', why: 'unfinished' });
    this.#drawn.delete(exchange);
    this.#asked.delete(exchange);
    const flight = this.#leads.get(exchange);
    if (flight === undefined) return;
    this.#leads.delete(exchange);
    this.#flights.delete(flight.place);
  }

  #found(exchange: ExchangeId, finding: Finding): void {
    const captured = this.#captured.get(exchange);
    if (captured === undefined) return;
    this.#captured.delete(exchange);
    const { flight, hit, specimen } = captured;
    this.#heldBytes -= specimen.heldBytes;
    if (hit === null) this.#leaderFound(flight, finding);
    else if (finding.kind === 'unfit') this.#options.tell({ ...hit, verdict: 'none', why: finding.why });
    else if (flight.leaderSays === null) flight.early.push({ hit, finding });
    else this.#options.tell(comparison(hit, finding, flight.leaderSays));
  }

  #leaderFound(flight: WouldBeFlight, finding: Finding): void {
    flight.leaderSays = finding;
    for (const early of flight.early.splice(0)) this.#options.tell(comparison(early.hit, early.finding, finding));
  }
}

function comparison(hit: WouldBeHit, { fingerprint, tokens }: Fit, leader: Finding): Comparison {
  if (leader.kind === 'unfit') return { ...hit, verdict: 'none', why: leader.why };
  const difference = differenceOf(leader.fingerprint, fingerprint);
  return difference === null
    ? { ...hit, verdict: 'same', tokens }
    : { ...hit, verdict: 'diverged', difference, tokens };
}
