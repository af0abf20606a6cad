/**
 * Which subject is due next: a binary heap by time in which a subject has one place at most, so that a finished one can
 * be taken out at once and is not held until its time would have come. Owns no clock.
 */

export class DeadlineQueue<Subject extends object> {
  readonly #heap: { subject: Subject; at: number }[] = [];
  readonly #places = new Map<Subject, number>();

  get size(): number {
    return this.#heap.length;
  }

  /** The earliest time, in milliseconds; null where nothing is due ever. */
  get nextAt(): number | null {
    return this.#heap[0]?.at ?? null;
  }

  /** When `subject` is due; null where it has no place. */
  dueAt(subject: Subject): number | null {
    const place = this.#places.get(subject);
    return place === undefined ? null : (this.#heap[place]?.at ?? null);
  }

  set(subject: Subject, at: number): void {
    const place = this.#places.get(subject);
    if (place === undefined) {
      this.#heap.push({ subject, at });
      this.#rise(this.#heap.length - 1);
      return;
    }
    const entry = this.#entryAt(place);
    entry.at = at;
    this.#rise(place);
    this.#sink(this.#places.get(subject) ?? place);
  }

  remove(subject: Subject): void {
    const place = this.#places.get(subject);
    if (place === undefined) return;
    this.#places.delete(subject);
    const last = this.#heap.pop();
    if (last === undefined || last.subject === subject) return;
    this.#put(place, last);
    this.#rise(place);
    this.#sink(this.#places.get(last.subject) ?? place);
  }

  /** Takes the earliest subject if it is due at `now`. */
  takeDue(now: number): Subject | null {
    const first = this.#heap[0];
    if (first === undefined || first.at > now) return null;
    this.remove(first.subject);
    return first.subject;
  }

  #rise(from: number): void {
    let place = from;
    const entry = this.#entryAt(place);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = this.#entryAt(above);
      if (parent.at <= entry.at) break;
      this.#put(place, parent);
      place = above;
    }
    this.#put(place, entry);
  }

  #sink(from: number): void {
    let place = from;
    const entry = this.#entryAt(place);
    for (;;) {
      const below = this.#earlierChild(place);
      if (below === null || this.#entryAt(below).at >= entry.at) break;
      this.#put(place, this.#entryAt(below));
      place = below;
    }
    this.#put(place, entry);
  }

  #earlierChild(place: number): number | null {
    const left = 2 * place + 1;
    if (left >= this.#heap.length) return null;
    const right = left + 1;
    return right < this.#heap.length && this.#entryAt(right).at < this.#entryAt(left).at ? right : left;
  }

  #put(place: number, entry: { subject: Subject; at: number }): void {
    this.#heap[place] = entry;
    this.#places.set(entry.subject, place);
  }

  #entryAt(place: number): { subject: Subject; at: number } {
    const entry = this.#heap[place];
    if (entry === undefined) throw new Error(`no deadline at place ${place}`);
    return entry;
  }
}
