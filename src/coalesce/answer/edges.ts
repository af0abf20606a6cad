/**
 * The start and the end of an answer that may be longer than anybody wants to look through: where a stream says what it
 * cost. What of it lies in chunks that others hold as well costs nothing more.
 */

const START_BYTES = 8 * 1024;
const END_BYTES = 32 * 1024;

export class AnswerEdges {
  readonly #start: Uint8Array[] = [];
  #startBytes = 0;
  #end: Uint8Array[] = [];
  #endBytes = 0;
  #hasGap = false;

  /** Takes the next bytes, which do not change afterwards. */
  push(bytes: Uint8Array): void {
    const room = START_BYTES - this.#startBytes;
    const first = bytes.subarray(0, room);
    if (room > 0) this.#start.push(first);
    this.#startBytes += first.length;
    if (bytes.length > first.length) this.#pushEnd(bytes.subarray(first.length));
  }

  #pushEnd(bytes: Uint8Array): void {
    const isLong = bytes.length > END_BYTES;
    // A view would hold all of a large chunk.
    const last = isLong ? Buffer.from(bytes.subarray(-END_BYTES)) : bytes;
    this.#end.push(last);
    this.#endBytes += last.length;
    this.#hasGap ||= isLong;
    for (
      let [first] = this.#end;
      first !== undefined && this.#endBytes - first.length >= END_BYTES;
      [first] = this.#end
    ) {
      this.#end.shift();
      this.#endBytes -= first.length;
      this.#hasGap = true;
    }
  }

  /** The whole answer where it is short; else its start and its end, parted as events are. */
  bytes(): Uint8Array {
    return Buffer.concat([...this.#start, ...(this.#hasGap ? [Buffer.from('\n\n')] : []), ...this.#end]);
  }
}
