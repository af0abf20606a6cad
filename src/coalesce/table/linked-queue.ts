/**
 * A queue from which any item can leave at once. A `Set` would do but for its speed: what has left its front is stepped over
 * each time until it is rebuilt.
 */

interface Link<Item> {
  readonly item: Item;
  before: Link<Item> | null;
  after: Link<Item> | null;
}

/** Each step takes the same time, whatever the length. An item has one place at most. */
export class LinkedQueue<Item> {
  readonly #links = new Map<Item, Link<Item>>();
  #first: Link<Item> | null = null;
  #last: Link<Item> | null = null;

  get size(): number {
    return this.#links.size;
  }

  get last(): Item | null {
    return this.#last?.item ?? null;
  }

  has(item: Item): boolean {
    return this.#links.has(item);
  }

  /** Puts an item at the end; one that has a place keeps it. */
  push(item: Item): void {
    if (this.#links.has(item)) return;
    const link: Link<Item> = { item, before: this.#last, after: null };
    if (this.#last === null) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    this.#links.set(item, link);
  }

  /** Takes the first item; null where there is none. */
  shift(): Item | null {
    const first = this.#first;
    if (first === null) return null;
    this.remove(first.item);
    return first.item;
  }

  /** Whether the item had a place. */
  remove(item: Item): boolean {
    const link = this.#links.get(item);
    if (link === undefined) return false;
    this.#links.delete(item);
    if (link.before === null) this.#first = link.after;
    else link.before.after = link.after;
    if (link.after === null) this.#last = link.before;
    else link.after.before = link.before;
    return true;
  }
}
