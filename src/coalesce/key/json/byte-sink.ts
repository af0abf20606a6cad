/**
 * Bytes that are written one after the other into one growing buffer. Knows nothing of JSON.
 */

import { Buffer } from 'node:buffer';

/** Below this many bytes a loop is faster than a call into native code. */
const SHORT_COPY_BYTES = 24;

export class ByteSink {
  private buffer: Buffer;
  private length = 0;

  constructor(expectedBytes: number) {
    this.buffer = Buffer.allocUnsafe(Math.max(64, expectedBytes));
  }

  byte(value: number): void {
    this.reserve(1);
    this.buffer[this.length] = value;
    this.length += 1;
  }

  /** `text` may hold any Unicode. */
  text(text: string): void {
    this.reserve(text.length * 3);
    this.length += this.buffer.write(text, this.length, 'utf8');
  }

  copy(source: Buffer, start: number, end: number): void {
    const size = end - start;
    this.reserve(size);
    if (size > SHORT_COPY_BYTES) source.copy(this.buffer, this.length, start, end);
    else
      for (let offset = 0; offset < size; offset += 1) this.buffer[this.length + offset] = source[start + offset] ?? 0;
    this.length += size;
  }

  /** What was written, without a copy: the sink must not be written to any more. */
  written(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private reserve(size: number): void {
    if (this.length + size <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.length + size));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
