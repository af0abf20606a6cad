/** Which entries of a stream stay in Redis: the newest, up to a number of bytes. */
export class StreamWindow {
  readonly #limit: number;
  readonly #entries: { readonly seq: number; readonly bytes: number }[] = [];
  #bytes = 0;
  #firstToKeep: number | null = null;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Null as long as all are kept. */
  get firstToKeep(): number | null {
    return this.#firstToKeep;
  }

  add(seq: number, bytes: number): void {
    this.#entries.push({ seq, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#limit && this.#entries.length > 1) {
      this.#bytes -= this.#entries.shift()?.bytes ?? 0;
      this.#firstToKeep = this.#entries[0]?.seq ?? null;
    }
  }
}
