/**
 * Error answers that would come again: kept for a moment after their flight, within their tenant's partition. Bounded in
 * entries and bytes; when an entry is over, and which answers are kept, is decided elsewhere.
 */

import type { AnswerHead, Flight } from '../flight/flight.ts';
import type { Key } from '../key/key.ts';
import type { HeaderList } from '../request/head.ts';
import type { Tenant } from '../request/tenant.ts';
import { LinkedQueue } from './linked-queue.ts';

export interface NegativeEntry {
  readonly tenant: Tenant;
  readonly key: Key;
  readonly head: AnswerHead;
  readonly bytes: Uint8Array;
  readonly trailers: HeaderList | null;
  readonly until: number;
  /** The flight through which it is being replayed. */
  flight: Flight | null;
}

export class NegativeCache {
  readonly #tenants = new Map<Tenant, Map<Key, NegativeEntry>>();
  /** The oldest first. */
  readonly #order = new LinkedQueue<NegativeEntry>();
  #bytes = 0;

  get size(): number {
    return this.#order.size;
  }

  /** Bytes of bodies held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The entry under a key that is not over at `now`. */
  find(tenant: Tenant, key: Key, now: number): NegativeEntry | null {
    const entry = this.#tenants.get(tenant)?.get(key);
    return entry !== undefined && entry.until > now ? entry : null;
  }

  /** Keeps an entry in place of an earlier one under its key. The oldest make room for it, and are returned. */
  keep(entry: NegativeEntry, limit: { entries: number; bytes: number }): NegativeEntry[] {
    const gone: NegativeEntry[] = [];
    const earlier = this.#tenants.get(entry.tenant)?.get(entry.key);
    if (earlier !== undefined) gone.push(earlier);
    if (earlier !== undefined) this.forget(earlier);
    while (this.size >= limit.entries || (this.#bytes + entry.bytes.length > limit.bytes && this.size > 0)) {
      const oldest = this.#order.shift();
      if (oldest === null) break;
      this.#takeOut(oldest);
      gone.push(oldest);
    }
    const keys = this.#tenants.get(entry.tenant) ?? new Map<Key, NegativeEntry>();
    this.#tenants.set(entry.tenant, keys);
    keys.set(entry.key, entry);
    this.#order.push(entry);
    this.#bytes += entry.bytes.length;
    return gone;
  }

  forget(entry: NegativeEntry): void {
    if (this.#order.remove(entry)) this.#takeOut(entry);
  }

  #takeOut(entry: NegativeEntry): void {
    this.#bytes -= entry.bytes.length;
    const keys = this.#tenants.get(entry.tenant);
    keys?.delete(entry.key);
    if (keys?.size === 0) this.#tenants.delete(entry.tenant);
  }
}
