/**
 * Reads the protobuf binary format: varints, lengths, nested messages, and the skipping of what is not known. Owns no
 * message; `envoy-message.ts` and `lazy-structs.ts` know the fields.
 *
 * Bad input is data here, not an exception: the first fault is kept in `fault`, and from then on `more()` is false, so
 * that every loop over fields ends by itself.
 */

/** The tag of a field that holds a string, bytes or a message. */
export function delimitedTag(field: number): number {
  return field * 8 + LENGTH_DELIMITED;
}

/** The tag of a field that holds a bool, an enum or an integer. */
export function varintTag(field: number): number {
  return field * 8 + VARINT;
}

/** The tag of a field that holds a double. */
export function fixed64Tag(field: number): number {
  return field * 8 + FIXED64;
}

export class ProtoReader {
  readonly #bytes: Buffer;
  #position = 0;
  #limit: number;
  #fault: string | null = null;

  /** Reads `bytes` in place: what `bytes()` gives is a view into them. */
  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limit = bytes.byteLength;
  }

  /** What is wrong with the input; null while nothing is. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Whether the message being read has another field. */
  more(): boolean {
    return this.#position < this.#limit;
  }

  /** A tag, length, bool, enum or integer. Exact up to 2^53, which every tag and usable length is below. */
  varint(): number {
    const bytes = this.#bytes;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < LONGEST_VARINT; count += 1) {
      if (this.#position >= this.#limit) return this.#fail('truncated varint');
      const byte = bytes[this.#position++] ?? 0;
      if (byte < 0x80) return value + byte * scale;
      value += (byte - 0x80) * scale;
      scale *= 0x80;
    }
    return this.#fail('varint over ten bytes');
  }

  /**
   * Goes into a nested message: `more()` is now about its fields. The result goes to `leave()` once they are read to their
   * end.
   */
  enter(): number {
    const outer = this.#limit;
    const length = this.varint();
    if (length > outer - this.#position) this.#fail('length beyond the message');
    else this.#limit = this.#position + length;
    return outer;
  }

  leave(outer: number): void {
    this.#limit = outer;
  }

  /** The content of a delimited field, as a view. */
  bytes(): Buffer {
    const start = this.#skipDelimited();
    return this.#fault === null ? this.#bytes.subarray(start, this.#position) : NO_BYTES;
  }

  /** The content of a delimited field, one UTF-16 unit for each byte. */
  latin1(): string {
    const start = this.#skipDelimited();
    return this.#fault === null ? this.#bytes.toString('latin1', start, this.#position) : '';
  }

  /** Passes over the field that this tag began. Groups, which proto3 does not have, are a fault. */
  skip(tag: number): void {
    if (tag < 8) this.#fail('field number 0');
    else if (tag % 8 === LENGTH_DELIMITED) this.#skipDelimited();
    else if (tag % 8 === VARINT) this.varint();
    else if (tag % 8 === FIXED64) this.#advance(8);
    else if (tag % 8 === FIXED32) this.#advance(4);
    else this.#fail(`wire type ${tag % 8}`);
  }

  #skipDelimited(): number {
    const length = this.varint();
    const start = this.#position;
    this.#advance(length);
    return start;
  }

  #advance(length: number): void {
    if (length > this.#limit - this.#position) this.#fail('length beyond the message');
    else this.#position += length;
  }

  #fail(why: string): 0 {
    this.#fault ??= why;
    this.#position = Number.POSITIVE_INFINITY;
    return 0;
  }
}

// Wire types: https://protobuf.dev/programming-guides/encoding/#structure
const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

const LONGEST_VARINT = 10;
const NO_BYTES: Buffer = Buffer.alloc(0);
