/**
 * Puts lines together into blocks for a destination for which each write is dear: a task for the thread pool, and a look at
 * all that waits. A line that comes after a while without any goes at once; those behind it when a block is full, after a while,
 * or on `flush`.
 */

/** Where blocks go. */
export interface BlockDestination {
  readonly write: (block: string) => unknown;
  readonly flush: (done: (error?: Error) => void) => void;
  readonly flushSync: () => void;
}

const BLOCK_LENGTH = 32 * 1024;
const LONGEST_WAIT_MS = 200;

export class LineBlocks {
  readonly #destination: BlockDestination;
  #lines: string[] = [];
  #length = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(destination: BlockDestination) {
    this.#destination = destination;
  }

  write(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= BLOCK_LENGTH || this.#timer === null) this.#pass();
  }

  /** `done` is called when all that was written so far has reached the destination's own end. */
  flush(done: (error?: Error) => void): void {
    this.#pass();
    this.#destination.flush(done);
  }

  /** For lines after which the process may end. */
  flushSync(): void {
    this.#pass();
    this.#destination.flushSync();
  }

  #pass(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#lines.length === 0) return;
    const block = this.#lines.join('');
    this.#lines = [];
    this.#length = 0;
    this.#timer = setTimeout(() => this.#pass(), LONGEST_WAIT_MS).unref();
    this.#destination.write(block);
  }
}
