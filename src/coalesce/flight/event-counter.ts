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
    for (const byte of bytes) this.#take(byte);
  }

  #take(byte: number): void {
    if (byte === LF && this.#previousWasCr) {
      this.#previousWasCr = false;
      return;
    }
    this.#previousWasCr = byte === CR;
    if (byte === LF || byte === CR) this.#endLine();
    else this.#lineIsBlank = false;
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
