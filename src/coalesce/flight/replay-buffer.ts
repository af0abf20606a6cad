/**
 * The record of one answer's bytes: append-only, one copy whatever the number of readers. A reader holds a cursor and
 * reads from there on. Bytes before the last cursor can be dropped; how many bytes may be held is the flight's decision.
 */

/** A reader's place, in chunks; made by `openCursor`. */
export interface Cursor {
  /** Number of the next chunk to read, counted from the answer's first. */
  next: number;
  /** Bytes of the answer that this reader has taken. */
  offset: number;
}

/** The most that one read takes when several chunks are waiting, in bytes. */
const READ_LIMIT = 64 * 1024;

export class ReplayBuffer {
  /** The chunks that are held, behind places of dropped ones that wait to be taken out together. */
  readonly #places: (Uint8Array | null)[] = [];
  #droppedPlaces = 0;
  /** Number of the first chunk that is held, counted from the answer's first. */
  #firstHeld = 0;
  #length = 0;
  #held = 0;

  /** Bytes appended so far, dropped ones included. */
  get length(): number {
    return this.#length;
  }

  /** Bytes held now. */
  get heldBytes(): number {
    return this.#held;
  }

  /** Appends a chunk, which the caller gives away: it must not change afterwards. Empty chunks are left out. */
  append(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#places.push(chunk);
    this.#length += chunk.length;
    this.#held += chunk.length;
  }

  /** A cursor at the answer's first byte; null where that byte was dropped. */
  openCursor(): Cursor | null {
    return this.#firstHeld === 0 ? { next: 0, offset: 0 } : null;
  }

  isAtEnd(cursor: Cursor): boolean {
    return cursor.offset === this.#length;
  }

  /** Whether bytes are held that no cursor but those like this one needs. */
  isHeldBackBy(cursor: Cursor): boolean {
    return this.#held > 0 && cursor.next <= this.#firstHeld;
  }

  /**
   * Takes the bytes that follow the cursor: the next chunk as it was appended, or where several are waiting as many of
   * them as fit into 64 KiB, joined. Null at the end of what is recorded.
   */
  read(cursor: Cursor): Uint8Array | null {
    const first = this.#chunk(cursor.next);
    if (first === null) return null;
    const taken = this.#chunksFrom(cursor.next, first);
    cursor.next += taken.length;
    const bytes = taken.length === 1 ? first : Buffer.concat(taken);
    cursor.offset += bytes.length;
    return bytes;
  }

  #chunksFrom(number: number, first: Uint8Array): Uint8Array[] {
    const taken = [first];
    let size = first.length;
    for (let next = number + 1; ; next += 1) {
      const chunk = this.#chunk(next);
      if (chunk === null || size + chunk.length > READ_LIMIT) return taken;
      taken.push(chunk);
      size += chunk.length;
    }
  }

  #chunk(number: number): Uint8Array | null {
    return this.#places[this.#droppedPlaces + number - this.#firstHeld] ?? null;
  }

  /** Drops the chunks before chunk number `next`. After that no cursor can be opened. Returns the bytes freed. */
  dropBefore(next: number): number {
    const end = Math.min(this.#droppedPlaces + next - this.#firstHeld, this.#places.length);
    let freed = 0;
    for (; this.#droppedPlaces < end; this.#droppedPlaces += 1) {
      freed += this.#places[this.#droppedPlaces]?.length ?? 0;
      this.#places[this.#droppedPlaces] = null;
      this.#firstHeld += 1;
    }
    this.#held -= freed;
    this.#takeOutDropped();
    return freed;
  }

  /** Once they are the most, so that a chunk is moved a few times at most, however many drop one by one. */
  #takeOutDropped(): void {
    if (this.#droppedPlaces * 2 <= this.#places.length) return;
    this.#places.splice(0, this.#droppedPlaces);
    this.#droppedPlaces = 0;
  }

  /** Drops everything held. Returns the bytes freed. */
  clear(): number {
    return this.dropBefore(Infinity);
  }
}
