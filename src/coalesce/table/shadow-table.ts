/**
 * What would have been shared: under shadow every exchange goes its own way, and this table only says whether a flight
 * under its key would have been there to join.
 */

import type { ExchangeId } from '../flight/flight.ts';
import type { Key } from '../key/key.ts';
import type { Tenant } from '../request/tenant.ts';

export class ShadowTable {
  readonly #limit: number;
  readonly #leaders = new Map<string, ExchangeId>();
  readonly #names = new Map<ExchangeId, string>();

  /** `limit`: would-be flights that are remembered at once; those beyond are not counted. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#leaders.size;
  }

  /** What `exchange` would have become. A would-be leader has to be ended by `end`. */
  begin(exchange: ExchangeId, name: { tenant: Tenant; key: Key }): 'leader' | 'follower' {
    const flight = `${name.tenant}${name.key}`;
    if (this.#leaders.has(flight)) return 'follower';
    if (this.#leaders.size < this.#limit) {
      this.#leaders.set(flight, exchange);
      this.#names.set(exchange, flight);
    }
    return 'leader';
  }

  end(exchange: ExchangeId): void {
    const flight = this.#names.get(exchange);
    if (flight === undefined) return;
    this.#names.delete(exchange);
    this.#leaders.delete(flight);
  }
}
