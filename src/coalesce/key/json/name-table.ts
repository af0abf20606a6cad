/**
 * Names that a document says again and again, each made into a string only once. A small table: a name that finds its place
 * taken is made anew.
 */

import type { Buffer } from 'node:buffer';

const SLOTS = 64;
const LONGEST_NAME_BYTES = 32;

interface Entry {
  readonly start: number;
  readonly size: number;
  readonly text: string;
}

export class NameTable {
  private readonly bytes: Buffer;
  private readonly entries: (Entry | undefined)[] = [];

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The text of a string without escapes. */
  text(start: number, end: number): string {
    const { bytes, entries } = this;
    const size = end - start;
    if (size > LONGEST_NAME_BYTES || size === 0) return bytes.toString('utf8', start, end);
    const slot = ((bytes[start] ?? 0) * 7 + (bytes[end - 1] ?? 0) * 3 + size) % SLOTS;
    const entry = entries[slot];
    if (entry !== undefined && entry.size === size && this.isSame(entry.start, start, size)) return entry.text;
    const text = bytes.toString('utf8', start, end);
    entries[slot] = { start, size, text };
    return text;
  }

  private isSame(left: number, right: number, size: number): boolean {
    for (let offset = 0; offset < size; offset += 1) {
      if (this.bytes[left + offset] !== this.bytes[right + offset]) return false;
    }
    return true;
  }
}
