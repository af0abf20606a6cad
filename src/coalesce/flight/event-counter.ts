/**
 * Counts the events of a `text/event-stream` as its bytes pass, for the late-join limit. Reads nothing but line ends:
 * an event ends with a blank line, and a line ends with LF, CR or CR LF (HTML, section 9.2.6).
 */

const LF = 0x0a;
const CR = 0x0d;

export class EventCounter {
  #events = 0;
  #lineIsBlank = true;
  #sawField = false;
  #previousWasCr = false;

  get events(): number {
    return this.#events;
  }

  /** Whether what has passed so far ends with a whole event, or is nothing yet. */
  get isBetweenEvents(): boolean {
    return this.#lineIsBlank && !this.#sawField;
  }

  /** Takes the next bytes; they may be cut anywhere. */
  push(bytes: Uint8Array): void {
    // Every byte of every answer passes here, and most streams have no CR: so lines are found by the runtime's own search.
    if (this.#previousWasCr || bytes.includes(CR)) this.#takeEach(bytes);
    else this.#takeLines(bytes);
  }

  /** Of bytes that hold no CR and follow none. */
  #takeLines(bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length;) {
      const end = bytes[start] === LF ? start : bytes.indexOf(LF, start);
      if (end !== start) this.#lineIsBlank = false;
      if (end === -1) return;
      this.#endLine();
      start = end + 1;
    }
  }

  #takeEach(bytes: Uint8Array): void {
    for (const byte of bytes) {
      const endsCrLf = byte === LF && this.#previousWasCr;
      this.#previousWasCr = byte === CR;
      if (endsCrLf) continue;
      if (byte === LF || byte === CR) this.#endLine();
      else this.#lineIsBlank = false;
    }
  }

  #endLine(): void {
    if (!this.#lineIsBlank) {
      this.#sawField = true;
      this.#lineIsBlank = true;
      return;
    }
    if (this.#sawField) this.#events += 1;
    this.#sawField = false;
  }
}
