/** Who may call upstream: `max_upstream` slots and a bounded queue, first in, first out. Decides nothing else. */

import type { Flight } from '../flight/flight.ts';

export interface AdmissionLimits {
  /** Upstream calls at once; 0: no limit. */
  readonly maxUpstream: number;
  readonly maxQueue: number;
  readonly maxWaitMs: number;
}

export class Admission {
  readonly limits: AdmissionLimits;
  readonly #queue = new Set<Flight>();
  #taken = 0;

  constructor(limits: AdmissionLimits) {
    this.limits = limits;
  }

  get queueLength(): number {
    return this.#queue.size;
  }

  get hasFreeSlot(): boolean {
    return this.limits.maxUpstream === 0 || this.#taken < this.limits.maxUpstream;
  }

  get isQueueFull(): boolean {
    return this.#queue.size >= this.limits.maxQueue;
  }

  take(flight: Flight): void {
    flight.holdsSlot = true;
    this.#taken += 1;
  }

  giveBack(flight: Flight): void {
    if (!flight.holdsSlot) return;
    flight.holdsSlot = false;
    this.#taken -= 1;
  }

  enqueue(flight: Flight): void {
    this.#queue.add(flight);
  }

  leaveQueue(flight: Flight): void {
    this.#queue.delete(flight);
  }

  /** Takes the first in the queue out of it if a slot is free. */
  nextAdmitted(): Flight | null {
    if (!this.hasFreeSlot) return null;
    for (const flight of this.#queue) {
      this.#queue.delete(flight);
      return flight;
    }
    return null;
  }
}
