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

/** The most that one read takes, in bytes. */
const READ_LIMIT = 16 * 1024;

interface Piece {
  readonly bytes: Uint8Array;
  /** Chunks in it. */
  readonly count: number;
}

export class ReplayBuffer {
  /** The chunks that are held, behind places of dropped ones that wait to be taken out together. */
  readonly #places: (Uint8Array | null)[] = [];
  /** Pieces that are kept, by the number of their first chunk: one after the other from the answer's first, so that none overlap. */
  readonly #pieces = new Map<number, Piece>();
  #piecesEnd = 0;
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

  /**
   * Appends a chunk, which the caller gives away: it must not change afterwards. One that is too large for a read is parted;
   * an empty one is left out.
   */
  append(chunk: Uint8Array): void {
    for (let offset = 0; offset < chunk.length; offset += READ_LIMIT) {
      this.#places.push(chunk.length <= READ_LIMIT ? chunk : chunk.subarray(offset, offset + READ_LIMIT));
    }
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
   * them as fit into 16 KiB, joined. Null at the end of what is recorded.
   */
  read(cursor: Cursor): Uint8Array | null {
    const first = this.#chunk(cursor.next);
    if (first === null) return null;
    const { bytes, count } = this.#pieces.get(cursor.next) ?? this.#piece(cursor.next, first);
    cursor.next += count;
    cursor.offset += bytes.length;
    return bytes;
  }

  /** The chunks from this one on that fit together. A piece that no more fits into is kept for those who read it later. */
  #piece(number: number, first: Uint8Array): Piece {
    const taken = [first];
    let size = first.length;
    let next = this.#chunk(number + 1);
    for (; next !== null && size + next.length <= READ_LIMIT; next = this.#chunk(number + taken.length)) {
      taken.push(next);
      size += next.length;
    }
    const piece = { bytes: taken.length === 1 ? first : Buffer.concat(taken), count: taken.length };
    if (number === this.#piecesEnd && next !== null) this.#keep(number, piece);
    return piece;
  }

  /** The chunks become views into the piece, so that the bytes are still held once. */
  #keep(number: number, piece: Piece): void {
    this.#pieces.set(number, piece);
    this.#piecesEnd += piece.count;
    let offset = 0;
    for (let place = this.#placeOf(number); offset < piece.bytes.length; place += 1) {
      const end = offset + (this.#places[place]?.length ?? 0);
      this.#places[place] = piece.bytes.subarray(offset, end);
      offset = end;
    }
  }

  #placeOf(number: number): number {
    return this.#droppedPlaces + number - this.#firstHeld;
  }

  #chunk(number: number): Uint8Array | null {
    return this.#places[this.#placeOf(number)] ?? null;
  }

  /** Drops the chunks before chunk number `next`. After that no cursor can be opened. Returns the bytes freed. */
  dropBefore(next: number): number {
    const end = Math.min(this.#droppedPlaces + next - this.#firstHeld, this.#places.length);
    let freed = 0;
    for (; this.#droppedPlaces < end; this.#droppedPlaces += 1) {
      freed += this.#places[this.#droppedPlaces]?.length ?? 0;
      this.#places[this.#droppedPlaces] = null;
      this.#pieces.delete(this.#firstHeld);
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
