/** What must hold of a flight table, in words, and who says that it does not. */

export const invariants = [
  /** At most one live flight per key and generation: one runs no two calls, and only the newest takes joiners. */
  'one flight',
  /** Every caller ends exactly once, and nobody waits for what will not come. */
  'one ending',
  /** What a caller got is a prefix of one flight's bytes, and all of it if it ended cleanly. */
  'prefix',
  /** No bytes cross keys or tenants. */
  'own key',
  /** Every limit holds at every step: on numbers, on bytes, on time. */
  'limits',
  /** At quiescence nothing is left. */
  'nothing left',
  /** What leads the fleet publishes its answer and nothing else, and then one end or one failure. */
  'one publication',
  /** What the table holds and tells is what it does. */
  'books',
] as const;
export type Invariant = (typeof invariants)[number];

export class Violation extends Error {
  readonly invariant: Invariant;

  constructor(invariant: Invariant, what: string) {
    super(`${invariant}: ${what}`);
    this.invariant = invariant;
  }
}

export class Judge {
  readonly #only: Invariant | null;

  /** `only`: all others are let pass, to show what this one alone finds. */
  constructor(only: Invariant | null = null) {
    this.#only = only;
  }

  /** `who` opens the message where several could be meant. */
  demand(invariant: Invariant, holds: boolean, what: string, who?: string): void {
    if (holds || (this.#only !== null && this.#only !== invariant)) return;
    throw new Violation(invariant, who === undefined ? what : `${who} ${what}`);
  }
}
