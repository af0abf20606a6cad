/** Who may call upstream: `max_upstream` slots, and a bounded queue for them. Whose turn it is in it is the fair queue's. */

import type { Flight } from '../../flight/flight.ts';
import type { Key } from '../../key/key.ts';
import type { Tenant } from '../../request/tenant.ts';
import { FairQueue } from './fair-queue.ts';
import { WaitEstimate } from './wait-estimate.ts';

export interface AdmissionLimits {
  /** Upstream calls at once; 0: no limit. */
  readonly maxUpstream: number;
  readonly maxQueue: number;
  readonly maxWaitMs: number;
  /** Whose calls they are; the process's unless given. The fleet's limit holds beside that of the process, where flights are shared. */
  readonly scope?: 'process' | 'fleet';
}

export class Admission {
  #limits: AdmissionLimits;
  readonly #queue: FairQueue;
  readonly #estimate = new WaitEstimate();
  #taken = 0;

  /** `slotsPerKey`: flights under one key that may call at once. */
  constructor(limits: AdmissionLimits, slotsPerKey: number) {
    this.#limits = limits;
    this.#queue = new FairQueue(slotsPerKey);
  }

  /** From now on. Who waits keeps its place, and who calls its slot. */
  limitTo(limits: AdmissionLimits, slotsPerKey: number): void {
    this.#limits = limits;
    this.#queue.limitKeys(slotsPerKey);
  }

  get limits(): AdmissionLimits {
    return this.#limits;
  }

  get isLimited(): boolean {
    return this.#limits.maxUpstream > 0;
  }

  get queueLength(): number {
    return this.#queue.size;
  }

  /** Whether nobody waits and no slot is held. */
  get isIdle(): boolean {
    return this.#queue.isIdle && this.#taken === 0;
  }

  /** Whether a flight under this key may call at once. */
  isOpen(tenant: Tenant, key: Key): boolean {
    return !this.isLimited || (this.#hasFreeSlot && !this.#queue.isKeyFull(tenant, key));
  }

  /** Whether a flight of this tenant would find a place in the queue. */
  hasPlaceFor(tenant: Tenant): boolean {
    return this.#queue.size < this.#limits.maxQueue || this.#queue.givesWayTo(tenant) !== null;
  }

  /** Whether somebody waits who could have a slot. */
  get owesSlot(): boolean {
    return this.#hasFreeSlot && this.#queue.hasNext;
  }

  take(flight: Flight): void {
    flight.holdsSlot = true;
    this.#taken += 1;
    this.#queue.slotTaken(flight);
  }

  giveBack(flight: Flight): void {
    if (!flight.holdsSlot) return;
    flight.holdsSlot = false;
    this.#taken -= 1;
    this.#queue.slotFreed(flight);
  }

  /** Puts a flight into the queue. In a full one another gives up its place for it, and is returned. */
  enqueue(flight: Flight, now: number): Flight | null {
    if (this.#queue.size === 0) this.#estimate.began(now);
    const pushedOut = this.#queue.size < this.#limits.maxQueue ? null : this.#queue.givesWayTo(flight.tenant);
    this.#queue.add(flight);
    return pushedOut;
  }

  leaveQueue(flight: Flight): void {
    this.#queue.remove(flight);
    if (this.#queue.size === 0) this.#estimate.emptied();
  }

  /** Takes the flight whose turn it is out of the queue if a slot is free. */
  nextAdmitted(now: number): Flight | null {
    const next = this.#hasFreeSlot ? this.#queue.takeNext() : null;
    if (next !== null) this.#estimate.moved(now);
    if (this.#queue.size === 0) this.#estimate.emptied();
    return next;
  }

  /** Seconds after which one who is turned away now may find a place; at least 1, at most 60. */
  retryAfterSeconds(now: number): number {
    return this.#estimate.seconds(this.#queue.size, now);
  }

  get #hasFreeSlot(): boolean {
    return !this.isLimited || this.#taken < this.#limits.maxUpstream;
  }
}
