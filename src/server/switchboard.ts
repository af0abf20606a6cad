/**
 * Where the exchanges, the flight table and the egress meet: it gives the core its clock and its random names, carries
 * out the core's effects in order, and keeps the one timer. It decides nothing about a flight.
 */

import { randomBytes } from 'node:crypto';

import type { ExchangeId, FlightId, Ticket } from '../coalesce/flight/flight.ts';
import type { Profile } from '../coalesce/profiles/profile.ts';
import type { Effect } from '../coalesce/table/effects.ts';
import type { TableLimits } from '../coalesce/table/board.ts';
import { FlightTable, type Totals } from '../coalesce/table/flight-table.ts';
import type { Config } from '../config/definition.ts';
import type { RedisConfig } from '../config/fleet/redis.ts';
import { answerHeadOf } from '../extproc/headers.ts';
import type { ExchangeEvent } from '../extproc/exchange-phase.ts';
import { joinBody } from '../extproc/wire.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Tracing } from '../observe/tracing/open-tracing.ts';
import { createEgress, type Egress } from '../upstream/call.ts';
import { exchangeEvent } from './exchange-event.ts';
import { countFact } from './facts.ts';
import { joinFleet, type Fleet } from './fleet.ts';
import { randomHexSource } from './random-hex.ts';

/** An exchange as the switchboard reaches it. */
export interface Reachable {
  readonly receive: (event: ExchangeEvent) => void;
  /** Of the recorded trace that it is in; null: none. */
  readonly traceId: string | null;
}

export class Switchboard {
  readonly table: FlightTable;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Null: off. */
  readonly tracing: Tracing | null;
  #config: Config;
  #secret: Uint8Array;
  #profiles: readonly Profile[];
  readonly #egress: Egress | null;
  readonly #fleet: Fleet | null;
  readonly #exchanges = new Map<ExchangeId, Reachable>();
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;
  #settling = false;
  #egressIsUp = true;
  #lastId = 0;

  constructor(options: { config: Config; metrics: Metrics; log: Log; tracing: Tracing | null }) {
    const { config } = options;
    this.#config = config;
    this.metrics = options.metrics;
    this.log = options.log;
    this.tracing = options.tracing;
    this.#secret = config.secret ?? randomBytes(32);
    this.#profiles = profilesOf(config);
    const randomHex = randomHexSource();
    this.table = new FlightTable({
      leg: config.egress === null ? 'attached' : 'detached',
      sharesFlights: config.redis !== null,
      isReadElsewhere: (flight) => this.#fleet?.isReadElsewhere(flight) === true,
      names: {
        flight: () => randomHex(8) as FlightId,
        ticket: () => `t${randomHex(32)}` as Ticket,
      },
      random: () => this.chance(),
      join: joinBody,
      limits: tableLimits(config),
    });
    this.#egress = config.egress === null ? null : this.#openEgress(config.egress);
    this.#fleet = config.redis === null ? null : this.#joinFleet(config.redis);
  }

  /** Random, from 0 up to, but not including, 1. */
  chance(): number {
    return Math.random();
  }

  /** Of new exchanges; one that runs keeps what it began with. */
  get config(): Config {
    return this.#config;
  }

  /** Keys every digest. */
  get secret(): Uint8Array {
    return this.#secret;
  }

  /** The operator's endpoints. */
  get profiles(): readonly Profile[] {
    return this.#profiles;
  }

  /** From now on another configuration is in force. Without a secret in it the earlier one stays. */
  reconfigure(config: Config): void {
    this.#config = config;
    this.#secret = config.secret ?? this.#secret;
    this.#profiles = profilesOf(config);
    this.table.limitTo(tableLimits(config), this.now());
    this.settle();
  }

  /** Milliseconds on a clock that only runs forward. */
  now(): number {
    return performance.now();
  }

  traceIdOf(exchange: ExchangeId): string | null {
    return this.#exchanges.get(exchange)?.traceId ?? null;
  }

  get openExchanges(): number {
    return this.#exchanges.size;
  }

  get totals(): Totals {
    return this.table.totals;
  }

  enter(exchange: Reachable): ExchangeId {
    this.#lastId += 1;
    const id = this.#lastId as ExchangeId;
    this.#exchanges.set(id, exchange);
    return id;
  }

  /** The exchange's stream is over. */
  leave(id: ExchangeId): void {
    if (!this.#exchanges.delete(id)) return;
    this.table.exchangeEnded(id, this.now());
    this.settle();
  }

  /**
   * Carries out what the table asks for, until it asks for nothing more, and sets the timer. An exchange that is reached
   * by an effect may act on the table again: its effects are taken in the same run.
   */
  settle(): void {
    if (this.#settling) return;
    this.#settling = true;
    try {
      for (let effects = this.table.takeEffects(); effects.length > 0; effects = this.table.takeEffects()) {
        for (const effect of effects) this.#carryOut(effect);
      }
    } finally {
      this.#settling = false;
    }
    this.#setTimer();
  }

  /** Ends what did not end in time before the process does. */
  breakOffFlights(): void {
    this.table.breakOffAll(this.now());
    this.settle();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await Promise.all([this.#egress?.close(), this.#fleet?.close()]);
  }

  #joinFleet(redis: RedisConfig): Fleet {
    const { log, metrics, table } = this;
    const limits = (): { maxReplayBytes: number; maxUpstream: number } => ({
      maxReplayBytes: this.#config.limits.maxReplayBytes,
      maxUpstream: this.#config.admission.maxUpstream,
    });
    const options = { redis, secret: () => this.#secret, limits, log, metrics };
    return joinFleet(options, { table, now: () => this.now(), settle: () => this.settle() });
  }

  #openEgress(url: string): Egress {
    const after = <Args extends readonly unknown[]>(step: (...args: Args) => void) => {
      return (...args: Args): void => {
        step(...args);
        this.settle();
      };
    };
    return createEgress(url, {
      began: after((flight, head) => {
        this.#egressAnswered(url);
        const endOfStream = head.status === '204' || head.status === '304';
        this.table.answerBegan(flight, { head: answerHeadOf(head), endOfStream, now: this.now() });
      }),
      grew: after((flight, bytes) => this.table.answerGrew(flight, { bytes, now: this.now() })),
      ended: after((flight, trailers) => this.table.answerEnded(flight, { trailers, now: this.now() })),
      broke: after((flight, { error, answered }) => {
        if (!answered) this.#egressFailed(url, error);
        this.table.answerBroke(flight, this.now());
      }),
    });
  }

  /** An answer that breaks off is its upstream's affair; one that does not begin is the egress's, told once until it is back. */
  #egressFailed(url: string, error: Error): void {
    if (this.#egressIsUp) this.log.egressDown(url, error);
    this.#egressIsUp = false;
  }

  #egressAnswered(url: string): void {
    if (!this.#egressIsUp) this.log.egressUp(url);
    this.#egressIsUp = true;
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'wake':
      case 'promote':
      case 'release':
      case 'refuse':
      case 'cut':
      case 'stopCapture':
        this.#exchanges.get(effect.exchange)?.receive(exchangeEvent(effect));
        return;
      case 'startCall':
        this.#egress?.call(effect.flight, effect.request, this.tracing?.headersOf(effect.flight) ?? []);
        return;
      case 'cancelCall':
        this.#egress?.cancel(effect.flight);
        return;
      case 'holdCall':
        this.#egress?.hold(effect.flight);
        return;
      case 'resumeCall':
        this.#egress?.resume(effect.flight);
        return;
      case 'claim':
      case 'leave':
      case 'holdReading':
      case 'resumeReading':
      case 'publishHead':
      case 'publishBytes':
      case 'publishEnd':
      case 'publishFailure':
      case 'closeJoining':
      case 'takeSlot':
      case 'giveSlotBack':
        this.#fleet?.carryOut(effect);
        return;
      default:
        countFact(effect, this);
    }
  }

  #setTimer(): void {
    const next = this.table.nextDeadline ?? Infinity;
    if (next >= this.#timerAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = next;
    // Rounded up: a timer that fires a fraction early would find nothing due and be set again.
    this.#timer = setTimeout(() => this.#onTimer(), Math.min(Math.ceil(next - this.now()) + 1, 2 ** 31 - 1));
    this.#timer.unref();
  }

  #onTimer(): void {
    this.#timer = null;
    this.#timerAt = Infinity;
    this.table.expire(this.now());
    this.settle();
  }
}

function profilesOf({ profiles }: Config): readonly Profile[] {
  return profiles.map(({ profile }) => profile);
}

function tableLimits(config: Config): TableLimits {
  const { limits, maxPromotions, admission, redis } = config;
  // Whether others read is known from heartbeats, three to a lease.
  const orphanGraceMs = Math.max(config.orphanGraceMs, redis === null ? 0 : redis.leaseMs / 2);
  return { ...limits, maxPromotions, orphanGraceMs, admission };
}
