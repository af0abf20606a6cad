/**
 * A text that is mostly made of pieces of another one, written one after the other. Pieces that stand side by side in the
 * source too are copied at once. Knows nothing of JSON.
 */

import { Buffer } from 'node:buffer';

/** Below this many bytes a loop is faster than a call into native code. */
const SHORT_COPY_BYTES = 64;

export class ByteSink {
  private readonly source: Buffer;
  private buffer: Buffer;
  private length = 0;
  /** A piece of the source that belongs behind what is written. */
  private runStart = 0;
  private runEnd = 0;

  constructor(source: Buffer) {
    this.source = source;
    this.buffer = Buffer.allocUnsafe(source.length + 64);
  }

  byte(value: number): void {
    if (this.runEnd > this.runStart && this.source[this.runEnd] === value) {
      this.runEnd += 1;
      return;
    }
    this.flush();
    this.reserve(1);
    this.buffer[this.length] = value;
    this.length += 1;
  }

  /** `text` may hold any Unicode. */
  text(text: string): void {
    this.flush();
    this.reserve(text.length * 3);
    this.length += this.buffer.write(text, this.length, 'utf8');
  }

  /** A piece of the source. */
  copy(start: number, end: number): void {
    if (start !== this.runEnd) {
      this.flush();
      this.runStart = start;
    }
    this.runEnd = end;
  }

  /** What was written, without a copy: the sink must not be written to any more. */
  written(): Buffer {
    this.flush();
    return this.buffer.subarray(0, this.length);
  }

  private flush(): void {
    const { source, runStart, runEnd } = this;
    const size = runEnd - runStart;
    if (size === 0) return;
    this.reserve(size);
    const { buffer, length } = this;
    if (size > SHORT_COPY_BYTES) source.copy(buffer, length, runStart, runEnd);
    else for (let offset = 0; offset < size; offset += 1) buffer[length + offset] = source[runStart + offset] ?? 0;
    this.length += size;
    this.runStart = runEnd;
  }

  private reserve(size: number): void {
    if (this.length + size <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.length + size));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
