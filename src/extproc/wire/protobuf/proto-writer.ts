/**
 * Writes the protobuf binary format. Owns no message; `reply.ts` knows the fields.
 *
 * The buffer fills from its end to its front: a nested message is complete when its length has to be written, so nothing is
 * measured first and nothing is moved. Hence the one rule for callers: **the last field first**.
 */

/** What gRPC puts before a message: whether it is compressed, and its length in four bytes. */
const FRAME_HEAD_BYTES = 5;

/** The message in a frame. */
export function messageIn(frame: Buffer): Buffer {
  return frame.subarray(FRAME_HEAD_BYTES);
}

/** A message, uncompressed, in the frame that gRPC sends it in. */
export function frameOf(message: readonly number[]): Buffer {
  const writer = new ProtoWriter(FRAME_HEAD_BYTES + message.length);
  writer.raw([Uint8Array.from(message)]);
  return writer.finishFrame();
}

export class ProtoWriter {
  #buffer: Buffer;
  #start: number;

  /** @param bytes a guess at the size of the message; it grows where that is too small. */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(FRAME_HEAD_BYTES + bytes);
    this.#start = this.#buffer.length;
  }

  /** The message in its gRPC frame. The writer is done with. */
  finishFrame(): Buffer {
    const length = this.#written();
    const start = this.#makeRoom(FRAME_HEAD_BYTES);
    this.#buffer.writeUInt8(0, start);
    this.#buffer.writeUInt32BE(length, start + 1);
    return this.#buffer.subarray(start);
  }

  /** A nested message whose fields `content` writes. */
  message(tag: number, content: () => void): void {
    const before = this.#written();
    content();
    this.varint(tag, this.#written() - before);
  }

  bytes(tag: number, value: Uint8Array): void {
    this.parts(tag, [value]);
  }

  /** A bytes field whose value is these, one behind the other. */
  parts(tag: number, values: readonly Uint8Array[]): void {
    this.varint(tag, this.raw(values));
  }

  /** Bytes that are encoded already. How many they are. */
  raw(values: readonly Uint8Array[]): number {
    const length = values.reduce((sum, { byteLength }) => sum + byteLength, 0);
    let position = this.#makeRoom(length);
    for (const value of values) {
      this.#buffer.set(value, position);
      position += value.byteLength;
    }
    return length;
  }

  /** A string or bytes field from a string that holds one byte in each UTF-16 unit. */
  latin1(tag: number, value: string): void {
    this.#makeRoom(value.length);
    this.#buffer.write(value, this.#start, 'latin1');
    this.varint(tag, value.length);
  }

  utf8(tag: number, value: string): void {
    const length = Buffer.byteLength(value);
    this.#makeRoom(length);
    this.#buffer.write(value, this.#start, 'utf8');
    this.varint(tag, length);
  }

  double(tag: number, value: number): void {
    const position = this.#makeRoom(8);
    this.#buffer.writeDoubleLE(value, position);
    this.#number(tag);
  }

  /** A bool, enum, integer or length field: a whole number from 0 to 2^53. */
  varint(tag: number, value: number): void {
    this.#number(value);
    this.#number(tag);
  }

  #number(value: number): void {
    let position = this.#makeRoom(bytesOfVarint(value));
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[position++] = (rest % 0x80) + 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[position] = rest;
  }

  #written(): number {
    return this.#buffer.length - this.#start;
  }

  /** Takes that many bytes in front of what is written; where they begin. */
  #makeRoom(bytes: number): number {
    if (bytes > this.#start) this.#grow(bytes);
    this.#start -= bytes;
    return this.#start;
  }

  #grow(bytes: number): void {
    const written = this.#buffer.subarray(this.#start);
    const larger = Buffer.allocUnsafe(2 * this.#buffer.length + bytes);
    this.#start = larger.length - written.length;
    larger.set(written, this.#start);
    this.#buffer = larger;
  }
}

function bytesOfVarint(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}
