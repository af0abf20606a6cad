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
  readonly #chunks: Uint8Array[] = [];
  /** Number of the chunk at `#chunks[#gone]`'s place before any was dropped; chunks before it are gone. */
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
    this.#chunks.push(chunk);
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

  /** Whether no byte before this cursor is held. */
  isAtFirstHeld(cursor: Cursor): boolean {
    return cursor.next <= this.#firstHeld;
  }

  /**
   * Takes the bytes that follow the cursor: the next chunk as it was appended, or where several are waiting as many of
   * them as fit into 64 KiB, joined. Null at the end of what is recorded.
   */
  read(cursor: Cursor): Uint8Array | null {
    const first = this.#chunks[cursor.next - this.#firstHeld];
    if (first === undefined) return null;
    const taken = this.#chunksFrom(cursor.next, first);
    cursor.next += taken.length;
    const bytes = taken.length === 1 ? first : Buffer.concat(taken);
    cursor.offset += bytes.length;
    return bytes;
  }

  #chunksFrom(number: number, first: Uint8Array): Uint8Array[] {
    const taken = [first];
    let size = first.length;
    for (let index = number - this.#firstHeld + 1; index < this.#chunks.length; index += 1) {
      const chunk = this.#chunks[index];
      if (chunk === undefined || size + chunk.length > READ_LIMIT) break;
      taken.push(chunk);
      size += chunk.length;
    }
    return taken;
  }

  /** Drops the chunks before chunk number `next`. After that no cursor can be opened. Returns the bytes freed. */
  dropBefore(next: number): number {
    const count = Math.min(next - this.#firstHeld, this.#chunks.length);
    if (count <= 0) return 0;
    let freed = 0;
    for (const chunk of this.#chunks.splice(0, count)) freed += chunk.length;
    this.#firstHeld += count;
    this.#held -= freed;
    return freed;
  }

  /** Drops everything held. Returns the bytes freed. */
  clear(): number {
    return this.dropBefore(this.#firstHeld + this.#chunks.length);
  }
}
