/**
 * How fast callers under one key are sent upstream by themselves. It counts over all flights of the key: where flight after
 * flight fails at once, each new one would else begin with a turn of its own.
 */

import type { Key } from '../key/key.ts';

export class ReleasePace {
  #turnMs: number;
  /** When each key's next turn comes, soonest first as long as a turn is as long for every key: time only runs forward. */
  readonly #turns = new Map<Key, number>();

  constructor(callersPerSecond: number) {
    this.#turnMs = 1000 / callersPerSecond;
  }

  limitTo(callersPerSecond: number): void {
    this.#turnMs = 1000 / callersPerSecond;
  }

  /** When the next caller under this key may go; `now` where it may go at once. */
  nextTurn(key: Key, now: number): number {
    return Math.max(now, this.#turns.get(key) ?? now);
  }

  /** A caller under this key goes now. */
  takeTurn(key: Key, now: number): void {
    this.#forgetPast(now);
    this.#turns.delete(key);
    this.#turns.set(key, now + this.#turnMs);
  }

  #forgetPast(now: number): void {
    for (const [key, turn] of this.#turns) {
      if (turn > now) return;
      this.#turns.delete(key);
    }
  }
}
