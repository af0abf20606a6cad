/**
 * The fleet's limit of upstream calls: slots in Redis, held by leases that this instance keeps. Where Redis does not
 * answer, a slot is granted: the limit of each process is the caller's.
 */

import { randomBytes } from 'node:crypto';

import type { FlightId } from '../coalesce/flight/flight.ts';
import type { Link } from './link/link.ts';
import { giveSlot, keepSlots, takeSlot } from './link/scripts.ts';
import { slotNames, type SlotNames } from './stream/names.ts';
import type { Wellness } from './wellness.ts';

export interface FleetSlotsOptions {
  readonly link: Link;
  readonly wellness: Wellness;
  readonly prefix: string;
  readonly leaseMs: number;
  /** The longest that a try waits for Redis. */
  readonly patienceMs: number;
  /** Slots in all, as of now; 0: no limit. */
  readonly slots: () => number;
  readonly granted: (flight: FlightId) => void;
}

type Claim =
  /** Not yet, or not again, asked for. */
  { readonly phase: 'waiting' } | { readonly phase: 'asking' } | { readonly phase: 'holding' };

const POLL_MS = 100;

export class FleetSlots {
  readonly #options: FleetSlotsOptions;
  readonly #names: SlotNames;
  /** Tells this instance's holders from others'. */
  readonly #instance: string = randomBytes(8).toString('hex');
  /** In order of arrival. */
  readonly #claims = new Map<FlightId, Claim>();
  readonly #keeper: NodeJS.Timeout;
  #poll: NodeJS.Timeout | null = null;
  #listening = false;

  constructor(options: FleetSlotsOptions) {
    this.#options = options;
    this.#names = slotNames(options.prefix);
    this.#keeper = setInterval(() => this.#keep(), options.leaseMs / 3);
  }

  take(flight: FlightId): void {
    if (this.#claims.has(flight)) return;
    this.#claims.set(flight, { phase: 'waiting' });
    queueMicrotask(() => this.#askNext());
  }

  giveBack(flight: FlightId): void {
    const claim = this.#claims.get(flight);
    if (claim === undefined) return;
    this.#claims.delete(flight);
    // One that is asked for may be granted yet: its own answer gives it back.
    if (claim.phase === 'holding') void this.#release(flight);
    this.#listenWhereNeeded();
    this.#askNext();
  }

  /** Gives all back; resolves when Redis knows, or cannot be told. */
  async close(): Promise<void> {
    clearInterval(this.#keeper);
    if (this.#poll !== null) clearTimeout(this.#poll);
    this.#options.link.unlisten(this.#names.channel, this.#wake);
    const held = [...this.#claims].filter(([, { phase }]) => phase !== 'waiting').map(([flight]) => flight);
    this.#claims.clear();
    await Promise.all(held.map((flight) => this.#release(flight)));
  }

  /** The one that has waited longest; one at a time, so that this instance's own order holds. */
  #askNext(): void {
    const states = [...this.#claims];
    if (states.some(([, { phase }]) => phase === 'asking')) return;
    const first = states.find(([, { phase }]) => phase === 'waiting')?.[0];
    if (first === undefined) return;
    this.#claims.set(first, { phase: 'asking' });
    this.#ask(first).then(
      (isGranted) => this.#answered(first, isGranted),
      (error: unknown) => {
        this.#options.wellness.failed(error);
        this.#answered(first, true);
      },
    );
  }

  async #ask(flight: FlightId): Promise<boolean> {
    const { link, wellness, leaseMs, slots } = this.#options;
    const count = slots();
    if (!wellness.isWell || count === 0) return true;
    const args = [this.#holder(flight), String(leaseMs), String(count)];
    const reply = await this.#inTime(link.run('decisions', takeSlot, { keys: [this.#names.slots], args }));
    return reply !== 0;
  }

  #answered(flight: FlightId, isGranted: boolean): void {
    const claim = this.#claims.get(flight);
    if (claim === undefined) {
      if (isGranted) void this.#release(flight);
    } else if (isGranted) {
      this.#claims.set(flight, { phase: 'holding' });
      this.#options.granted(flight);
    } else {
      this.#claims.set(flight, { phase: 'waiting' });
      this.#listenWhereNeeded();
      this.#pollLater();
      return;
    }
    this.#askNext();
  }

  readonly #wake = (): void => {
    this.#askNext();
  };

  #pollLater(): void {
    if (this.#poll !== null) return;
    // Jitter keeps the instances from asking all at once.
    const delayMs = POLL_MS * (0.5 + Math.random());
    this.#poll = setTimeout(() => {
      this.#poll = null;
      this.#askNext();
    }, delayMs);
  }

  #listenWhereNeeded(): void {
    const isWaiting = [...this.#claims.values()].some(({ phase }) => phase === 'waiting');
    if (isWaiting === this.#listening) return;
    this.#listening = isWaiting;
    const { link } = this.#options;
    if (isWaiting) link.listen(this.#names.channel, this.#wake).then(this.#wake, () => undefined);
    else link.unlisten(this.#names.channel, this.#wake);
  }

  #keep(): void {
    const held = [...this.#claims]
      .filter(([, { phase }]) => phase === 'holding')
      .map(([flight]) => this.#holder(flight));
    if (held.length === 0) return;
    const args = [String(this.#options.leaseMs), ...held];
    // The next one says it again.
    this.#options.link.run('decisions', keepSlots, { keys: [this.#names.slots], args }).catch(() => undefined);
  }

  async #release(flight: FlightId): Promise<void> {
    const args = [this.#holder(flight), this.#names.channel];
    try {
      await this.#options.link.run('decisions', giveSlot, { keys: [this.#names.slots], args });
    } catch {
      // Its lease ends by itself.
    }
  }

  #holder(flight: FlightId): string {
    return `${this.#instance}:${flight}`;
  }

  #inTime<Value>(reply: Promise<Value>): Promise<Value> {
    const { patienceMs } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
      reply.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
