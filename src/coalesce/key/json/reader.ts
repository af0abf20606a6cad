/**
 * A strict reader of JSON texts (RFC 8259) for request bodies. It refuses whatever two readers could take for two
 * things: a duplicate name, a lone surrogate, bytes that are not UTF-8, numbers out of range. In one pass, without recursion.
 */

import { Buffer, isUtf8 } from 'node:buffer';
import { JsonDocument, kinds, SLOTS_PER_NODE, type JsonKind, type JsonNode } from './document.ts';
import { hasDuplicateNames } from './duplicate-names.ts';
import { scanNumber } from './number.ts';
import { scanCanonical, scanPlain, scanString } from './string.ts';

/** Why a text is not read. */
export type JsonRefusal =
  'not_utf8' | 'not_json' | 'not_an_object' | 'too_deep' | 'bad_number' | 'bad_string' | 'duplicate_name';

export type JsonReading =
  | { readonly kind: 'document'; readonly document: JsonDocument }
  | { readonly kind: 'refused'; readonly why: JsonRefusal };

/** Containers within containers, the root included. */
const MAX_DEPTH = 128;

/** The tape begins with room for a node in every 32 bytes, and grows. */
const FEWEST_NODES = 32;
const BYTES_PER_NODE_LOG2 = 5;

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;

const literals: ReadonlyMap<number, { readonly text: string; readonly kind: JsonKind }> = new Map([
  [0x6e, { text: 'null', kind: kinds.null }],
  [0x74, { text: 'true', kind: kinds.true }],
  [0x66, { text: 'false', kind: kinds.false }],
]);

/** Reads a whole text whose root is an object. The bytes must not change while the document is used. */
export function readJson(bytes: Uint8Array): JsonReading {
  if (!isUtf8(bytes)) return { kind: 'refused', why: 'not_utf8' };
  return new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).read();
}

class Reader {
  private readonly bytes: Buffer;
  private position = 0;
  private tape: Int32Array;
  private document: JsonDocument;
  private nodes = 0;
  /** The containers that are open, outermost first. */
  private readonly open: JsonNode[] = [];
  private refusal: JsonRefusal = 'not_json';

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.tape = new Int32Array(Math.max(FEWEST_NODES, bytes.length >> BYTES_PER_NODE_LOG2) * SLOTS_PER_NODE);
    this.document = new JsonDocument(bytes, this.tape);
  }

  read(): JsonReading {
    if (this.peek() !== OPEN_OBJECT)
      return { kind: 'refused', why: this.position < this.bytes.length ? 'not_an_object' : 'not_json' };
    do {
      if (!this.readValue() || !this.climb()) return { kind: 'refused', why: this.refusal };
    } while (this.open.length > 0);
    if (this.peek() !== undefined) return { kind: 'refused', why: 'not_json' };
    return { kind: 'document', document: this.document };
  }

  /** Reads a scalar, or opens a container and goes on to its first value; an empty one is left for `climb` to close. */
  private readValue(): boolean {
    for (;;) {
      const byte = this.peek();
      if (byte === OPEN_ARRAY) {
        if (!this.openContainer(kinds.array)) return false;
        if (this.peek() === CLOSE_ARRAY) return true;
      } else if (byte === OPEN_OBJECT) {
        if (!this.openContainer(kinds.object)) return false;
        if (this.peek() === CLOSE_OBJECT) return true;
        if (!this.readName()) return false;
      } else return this.readScalar(byte);
    }
  }

  /** After a value: closes what ends here, up to the comma before the next value or to the end of the root. */
  private climb(): boolean {
    for (;;) {
      const container = this.open.at(-1);
      if (container === undefined) return true;
      const isArray = this.document.kind(container) === kinds.array;
      const byte = this.peek();
      this.position += 1;
      if (byte === COMMA) return isArray || this.readName();
      if (byte !== (isArray ? CLOSE_ARRAY : CLOSE_OBJECT)) return false;
      if (!this.close(container, isArray)) return false;
    }
  }

  private openContainer(kind: JsonKind): boolean {
    if (this.open.length === MAX_DEPTH) return this.refuse('too_deep');
    this.open.push(this.push(kind, this.position, 0));
    this.position += 1;
    return true;
  }

  private close(container: JsonNode, isArray: boolean): boolean {
    this.open.pop();
    this.tape[container * SLOTS_PER_NODE + 2] = this.nodes;
    return isArray || !hasDuplicateNames(this.document, container) || this.refuse('duplicate_name');
  }

  private readName(): boolean {
    if (this.peek() !== QUOTE || !this.readString() || this.peek() !== COLON) return false;
    this.position += 1;
    return true;
  }

  private readScalar(byte: number | undefined): boolean {
    if (byte === undefined) return false;
    if (byte === QUOTE) return this.readString();
    const literal = literals.get(byte);
    return literal === undefined ? this.readNumber() : this.readLiteral(literal.text, literal.kind);
  }

  private readString(): boolean {
    const { bytes } = this;
    const start = this.position + 1;
    const plainEnd = scanPlain(bytes, start);
    if (bytes[plainEnd] === QUOTE) return this.endString(kinds.plainString, start, plainEnd);
    const canonicalEnd = scanCanonical(bytes, plainEnd);
    if (bytes[canonicalEnd] === QUOTE) return this.endString(kinds.canonicalString, start, canonicalEnd);
    const end = scanString(bytes, canonicalEnd);
    return end === -1 ? this.refuse('bad_string') : this.endString(kinds.escapedString, start, end);
  }

  private endString(kind: JsonKind, start: number, end: number): true {
    this.push(kind, start, end);
    this.position = end + 1;
    return true;
  }

  private readNumber(): boolean {
    const end = scanNumber(this.bytes, this.position);
    if (end === -1) return this.refuse('bad_number');
    this.push(kinds.number, this.position, end);
    this.position = end;
    return true;
  }

  private readLiteral(text: string, kind: JsonKind): boolean {
    const end = this.position + text.length;
    if (this.bytes.toString('latin1', this.position, end) !== text) return false;
    this.push(kind, this.position, end);
    this.position = end;
    return true;
  }

  private push(kind: JsonKind, start: number, end: number): JsonNode {
    const slot = this.nodes * SLOTS_PER_NODE;
    if (slot === this.tape.length) this.grow();
    this.tape[slot] = kind;
    this.tape[slot + 1] = start;
    this.tape[slot + 2] = end;
    this.nodes += 1;
    return this.nodes - 1;
  }

  private grow(): void {
    const larger = new Int32Array(this.tape.length * 2);
    larger.set(this.tape);
    this.tape = larger;
    this.document = new JsonDocument(this.bytes, larger);
  }

  /** The next byte that is not whitespace; undefined at the end. */
  private peek(): number | undefined {
    for (;;) {
      if (this.position >= this.bytes.length) return undefined;
      const byte = this.bytes[this.position];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.position += 1;
    }
  }

  private refuse(why: JsonRefusal): false {
    this.refusal = why;
    return false;
  }
}
