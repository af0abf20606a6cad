/**
 * The record of one answer's bytes: append-only, one copy whatever the number of readers. A reader holds a cursor and
 * reads from there on. Bytes before the last cursor can be dropped; how many bytes may be held is the flight's decision.
 */

/** A reader's place; made by `openCursor`. */
export interface Cursor {
  /** Bytes of the answer that this reader has taken. */
  offset: number;
}

/** Joins chunks to one, which nobody changes afterwards. */
export type Join = (chunks: readonly Uint8Array[]) => Uint8Array;

/** The most that one read takes, in bytes. */
const READ_LIMIT = 16 * 1024;

/** So many chunks of a full piece are joined before anybody reads it: each takes more memory than its bytes. */
const MANY_CHUNKS = 16;

/** Some chunks in a row, which are one for every reader. */
interface Part {
  /** Bytes of the answer before it. */
  readonly start: number;
  readonly length: number;
  bytes: () => Uint8Array;
}

export class ReplayBuffer {
  readonly #join: Join;
  /** What is held, in order: pieces first, each as large as it may be, and behind them the chunks of the next piece. */
  readonly #parts: Part[] = [];
  #pieceCount = 0;
  /** In the chunks of the next piece. */
  #looseBytes = 0;
  /** The chunks from `start` up to the end as they were at `length`, joined for who reads them next. */
  #lastJoined: { readonly start: number; readonly bytes: Uint8Array; readonly length: number } | null = null;
  #length = 0;
  #held = 0;

  /** @param join what readers are given in common is made by it, one piece after the other. */
  constructor(join: Join = (chunks) => Buffer.concat(chunks)) {
    this.#join = join;
  }

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
      this.#push(chunk.length <= READ_LIMIT ? chunk : chunk.subarray(offset, offset + READ_LIMIT));
    }
  }

  #push(bytes: Uint8Array): void {
    if (this.#looseBytes + bytes.length > READ_LIMIT) this.#joinPiece();
    this.#parts.push({ start: this.#length, length: bytes.length, bytes: () => bytes });
    this.#looseBytes += bytes.length;
    this.#length += bytes.length;
    this.#held += bytes.length;
  }

  /** All readers get the same piece, which is made for the first of them. Often there is none: a leader's own answer is only recorded. */
  #joinPiece(): void {
    const loose = this.#parts.splice(this.#pieceCount);
    const length = this.#looseBytes;
    this.#looseBytes = 0;
    this.#lastJoined = null;
    const [first] = loose;
    if (first === undefined) return;
    const piece = joinedOnce(loose, { length, join: this.#join });
    if (loose.length >= MANY_CHUNKS) piece.bytes();
    this.#parts.push(piece);
    this.#pieceCount += 1;
  }

  /** A cursor at the answer's first byte; null where that byte was dropped. */
  openCursor(): Cursor | null {
    return this.#held === this.#length ? { offset: 0 } : null;
  }

  isAtEnd(cursor: Cursor): boolean {
    return cursor.offset === this.#length;
  }

  /** Whether bytes are held that no cursor but those like this one needs. */
  isHeldBackBy(cursor: Cursor): boolean {
    const [first] = this.#parts;
    return first !== undefined && cursor.offset < endOf(first);
  }

  /**
   * Takes the bytes that follow the cursor: the last chunk as it was appended, or where several are waiting as many of
   * them as fit into 16 KiB, joined. Null at the end of what is recorded.
   */
  read(cursor: Cursor): Uint8Array | null {
    const index = this.#indexAt(cursor.offset);
    const part = this.#parts[index];
    if (part === undefined || cursor.offset < part.start) return null;
    const bytes =
      index < this.#pieceCount || index === this.#parts.length - 1
        ? from(cursor.offset, part)
        : this.#looseFrom(part.start, index);
    cursor.offset += bytes.length;
    return bytes;
  }

  /** Many readers who wait at the same place are woken by the same bytes. */
  #looseFrom(start: number, index: number): Uint8Array {
    if (this.#lastJoined?.start === start && this.#lastJoined.length === this.#length) return this.#lastJoined.bytes;
    const bytes = this.#join(this.#parts.slice(index).map((part) => part.bytes()));
    this.#lastJoined = { start, bytes, length: this.#length };
    return bytes;
  }

  /** Of the first part that ends behind this offset. */
  #indexAt(offset: number): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const part = this.#parts[middle];
      if (part !== undefined && endOf(part) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Drops what ends at this offset or before it. After that no cursor can be opened. Returns the bytes freed. */
  dropBefore(offset: number): number {
    const count = this.#indexAt(offset);
    if (count === 0) return 0;
    let freed = 0;
    for (const { length } of this.#parts.splice(0, count)) freed += length;
    const loose = Math.max(0, count - this.#pieceCount);
    this.#pieceCount = Math.max(0, this.#pieceCount - count);
    if (loose > 0) {
      this.#looseBytes = this.#parts.reduce((sum, { length }) => sum + length, 0);
      this.#lastJoined = null;
    }
    this.#held -= freed;
    return freed;
  }

  /** Drops everything held. Returns the bytes freed. */
  clear(): number {
    return this.dropBefore(Infinity);
  }
}

/** The parts as one, joined when it is first asked for and held in their place from then on. */
function joinedOnce(parts: readonly Part[], { length, join }: { length: number; join: Join }): Part {
  // Let go of by the join: a closure that could still reach them would hold all of them as long as the piece.
  let waiting = parts;
  const piece: Part = {
    start: parts[0]?.start ?? 0,
    length,
    bytes: () => {
      const joined = join(waiting.map(({ bytes }) => bytes()));
      waiting = [];
      piece.bytes = () => joined;
      return joined;
    },
  };
  return piece;
}

function endOf({ start, length }: Part): number {
  return start + length;
}

function from(offset: number, part: Part): Uint8Array {
  const bytes = part.bytes();
  return offset === part.start ? bytes : bytes.subarray(offset - part.start);
}
