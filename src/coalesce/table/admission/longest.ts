/** Which member has the highest count, where counts go up and down by one: a shelf for each count, and the highest of them. */

import { LinkedQueue } from '../linked-queue.ts';

export class Longest<Member> {
  readonly #counts = new Map<Member, number>();
  readonly #shelves = new Map<number, LinkedQueue<Member>>();
  #highest = 0;

  /** The member with the highest count, the latest to reach it where there are several; null where all are at 0. */
  get member(): Member | null {
    return this.#shelves.get(this.#highest)?.last ?? null;
  }

  /** Sets a member's count, which was one more or one less. At 0 it is forgotten. */
  move(member: Member, count: number): void {
    this.#take(member);
    if (count > 0) {
      this.#counts.set(member, count);
      const shelf = this.#shelves.get(count) ?? new LinkedQueue<Member>();
      this.#shelves.set(count, shelf);
      shelf.push(member);
    }
    if (count > this.#highest) this.#highest = count;
    else if (!this.#shelves.has(this.#highest)) this.#highest = Math.max(0, this.#highest - 1);
  }

  #take(member: Member): void {
    const count = this.#counts.get(member);
    const shelf = count === undefined ? undefined : this.#shelves.get(count);
    this.#counts.delete(member);
    if (count === undefined || shelf === undefined) return;
    shelf.remove(member);
    if (shelf.size === 0) this.#shelves.delete(count);
  }
}
