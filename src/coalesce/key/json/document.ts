/**
 * A JSON text that was read, as a flat tape of nodes over its bytes: what each value is, where it stands and what it
 * holds, without copying or converting anything. `reader.ts` makes these; what they mean is for others.
 */

import type { Buffer } from 'node:buffer';
import { NameTable } from './name-table.ts';
import { decodeString } from './string.ts';

/** Position of a value (or of a member's name, which is a string) on the tape. */
export type JsonNode = number;

/**
 * What a node is. Strings differ in how they are written: plain ones have no escapes, canonical ones have each in its one
 * canonical spelling, escaped ones have others.
 */
export const kinds = {
  null: 0,
  true: 1,
  false: 2,
  number: 3,
  plainString: 4,
  canonicalString: 5,
  escapedString: 6,
  array: 7,
  object: 8,
} as const;
export type JsonKind = (typeof kinds)[keyof typeof kinds];

/** Kind, then start and end offset in the bytes (a string's without its quotes); a container's end is a node: the one after its last. */
export const SLOTS_PER_NODE = 3;

const kindsByNumber: readonly JsonKind[] = Object.values(kinds);

export interface JsonMember {
  readonly name: JsonNode;
  readonly value: JsonNode;
}

export class JsonDocument {
  /** The root, which is always an object. */
  readonly root: JsonNode = 0;
  readonly bytes: Buffer;
  private readonly tape: Int32Array;
  private readonly names: NameTable;

  constructor(bytes: Buffer, tape: Int32Array) {
    this.bytes = bytes;
    this.tape = tape;
    this.names = new NameTable(bytes);
  }

  kind(node: JsonNode): JsonKind {
    return kindsByNumber[this.slot(node, 0)] ?? kinds.null;
  }

  isString(node: JsonNode): boolean {
    const kind = this.kind(node);
    return kind >= kinds.plainString && kind <= kinds.escapedString;
  }

  start(node: JsonNode): number {
    return this.slot(node, 1);
  }

  end(node: JsonNode): number {
    return this.slot(node, 2);
  }

  /** The node that follows this value and all that it holds. */
  after(node: JsonNode): JsonNode {
    return this.kind(node) >= kinds.array ? this.slot(node, 2) : node + 1;
  }

  /** A number as it is written. */
  lexeme(node: JsonNode): string {
    return this.bytes.toString('latin1', this.start(node), this.end(node));
  }

  /** What a string says. */
  text(node: JsonNode): string {
    const isPlain = this.kind(node) === kinds.plainString;
    if (isPlain) return this.bytes.toString('utf8', this.start(node), this.end(node));
    return decodeString(this.bytes, this.start(node), this.end(node));
  }

  /** As `text`, for strings that are likely to be said again. */
  name(node: JsonNode): string {
    const isPlain = this.kind(node) === kinds.plainString;
    return isPlain ? this.names.text(this.start(node), this.end(node)) : this.text(node);
  }

  /** An array's items, in order. */
  items(array: JsonNode): JsonNode[] {
    const nodes: JsonNode[] = [];
    const end = this.after(array);
    for (let node = array + 1; node < end; node = this.after(node)) nodes.push(node);
    return nodes;
  }

  /** An object's members, in order. */
  members(object: JsonNode): JsonMember[] {
    const members: JsonMember[] = [];
    const end = this.after(object);
    for (let name = object + 1; name < end; name = this.after(name + 1)) members.push({ name, value: name + 1 });
    return members;
  }

  private slot(node: JsonNode, offset: number): number {
    return this.tape[node * SLOTS_PER_NODE + offset] ?? 0;
  }
}
