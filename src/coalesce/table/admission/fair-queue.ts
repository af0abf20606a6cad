/**
 * Whose turn it is among flights that wait for a slot: tenants take turns, a tenant's keys take turns within its own, and the
 * flights under one key stand in line. A key that has as many calls as it may is passed over until one of them ends.
 *
 * The queue is bounded, and no tenant can fill it for the others: where it is full, the tenant with the most flights in it
 * gives up a place to one that has fewer. Each step takes the same time, whatever the length.
 */

import type { Flight } from '../../flight/flight.ts';
import type { Key } from '../../key/key.ts';
import type { Tenant } from '../../request/tenant.ts';
import { LinkedQueue } from '../linked-queue.ts';
import { Longest } from './longest.ts';

/** What is known of one key: the flights that wait under it, and the slots that others under it hold. */
interface KeyLane {
  readonly key: Key;
  readonly waiting: LinkedQueue<Flight>;
  slots: number;
}

interface TenantLane {
  readonly tenant: Tenant;
  readonly keys: Map<Key, KeyLane>;
  /** The keys that may have the next turn. */
  readonly turns: LinkedQueue<KeyLane>;
  /** Those under which a flight waits, the one that came last at the end. */
  readonly queued: LinkedQueue<KeyLane>;
  waiting: number;
}

export class FairQueue {
  #slotsPerKey: number;
  readonly #tenants = new Map<Tenant, TenantLane>();
  /** The tenants of which a key may have the next turn. */
  readonly #turns = new LinkedQueue<TenantLane>();
  readonly #longest = new Longest<TenantLane>();
  #size = 0;

  constructor(slotsPerKey: number) {
    this.#slotsPerKey = slotsPerKey;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether nothing is remembered: nobody waits and no slot is held. */
  get isIdle(): boolean {
    return this.#tenants.size === 0;
  }

  limitKeys(slotsPerKey: number): void {
    this.#slotsPerKey = slotsPerKey;
    for (const lane of this.#tenants.values()) {
      for (const key of lane.keys.values()) this.#place(lane, key);
    }
  }

  /** Whether a key has as many slots as it may. */
  isKeyFull(tenant: Tenant, key: Key): boolean {
    return (this.#tenants.get(tenant)?.keys.get(key)?.slots ?? 0) >= this.#slotsPerKey;
  }

  /** Whether some flight would be given the next slot. */
  get hasNext(): boolean {
    return this.#turns.size > 0;
  }

  add(flight: Flight): void {
    const { lane, key } = this.#lanesOf(flight);
    key.waiting.push(flight);
    this.#count(lane, 1);
    this.#place(lane, key);
  }

  remove(flight: Flight): void {
    const lane = this.#tenants.get(flight.tenant);
    const key = lane?.keys.get(flight.key);
    if (lane === undefined || key === undefined || !key.waiting.remove(flight)) return;
    this.#count(lane, -1);
    this.#place(lane, key);
  }

  /** Takes the flight whose turn it is; its tenant and its key have their next turn after all others. */
  takeNext(): Flight | null {
    const lane = this.#turns.shift();
    const key = lane?.turns.shift();
    const flight = key?.waiting.shift();
    if (!lane || !key || !flight) return null;
    this.#count(lane, -1);
    this.#place(lane, key);
    return flight;
  }

  /** The flight that gives way to one of `tenant` in a full queue; null where that tenant has its share already. */
  givesWayTo(tenant: Tenant): Flight | null {
    const longest = this.#longest.member;
    const own = this.#tenants.get(tenant)?.waiting ?? 0;
    if (longest === null || longest.waiting <= own + 1) return null;
    return longest.queued.last?.waiting.last ?? null;
  }

  slotTaken(flight: Flight): void {
    const { lane, key } = this.#lanesOf(flight);
    key.slots += 1;
    this.#place(lane, key);
  }

  slotFreed(flight: Flight): void {
    const { lane, key } = this.#lanesOf(flight);
    key.slots -= 1;
    this.#place(lane, key);
  }

  #lanesOf({ tenant, key }: Flight): { lane: TenantLane; key: KeyLane } {
    const lane = this.#tenants.get(tenant) ?? newLane(tenant);
    this.#tenants.set(tenant, lane);
    const keyLane = lane.keys.get(key) ?? { key, waiting: new LinkedQueue(), slots: 0 };
    lane.keys.set(key, keyLane);
    return { lane, key: keyLane };
  }

  #count(lane: TenantLane, change: 1 | -1): void {
    this.#size += change;
    lane.waiting += change;
    this.#longest.move(lane, lane.waiting);
  }

  /** Gives a key and its tenant a turn, keeps the one they have, or takes it; forgets those of whom nothing is left. */
  #place(lane: TenantLane, key: KeyLane): void {
    if (key.waiting.size > 0) lane.queued.push(key);
    else lane.queued.remove(key);
    if (key.waiting.size > 0 && key.slots < this.#slotsPerKey) lane.turns.push(key);
    else lane.turns.remove(key);
    if (lane.turns.size > 0) this.#turns.push(lane);
    else this.#turns.remove(lane);
    if (key.waiting.size === 0 && key.slots === 0) lane.keys.delete(key.key);
    if (lane.keys.size === 0) this.#tenants.delete(lane.tenant);
  }
}

function newLane(tenant: Tenant): TenantLane {
  return { tenant, keys: new Map(), turns: new LinkedQueue(), queued: new LinkedQueue(), waiting: 0 };
}
