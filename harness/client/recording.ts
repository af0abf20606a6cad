/**
 * What a client saw of one exchange, with times: the one record that both protocols fill in.
 */
import { defer } from '../deferred.ts';

/** How an exchange ended for the client: whole, cut by the other side, or because the client hung up. */
export type Ending = 'complete' | 'reset' | 'left';

/** A piece of the body as it was read, and when (`performance.now()`, in milliseconds). */
export type Chunk = { readonly atMs: number; readonly bytes: Buffer };

export type Exchange = {
  /** 0 where no head arrived. */
  readonly status: number;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  /** Lower-case names; values of a repeated name joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Chunk[];
  readonly body: Buffer;
  readonly trailers: Readonly<Record<string, string>>;
  readonly ending: Ending;
  /** What the other side's cut looked like: an error code, or an HTTP/2 reset code as `RST 2`. */
  readonly error: string | undefined;
  readonly startedAtMs: number;
  readonly headAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
};

type Waiter = {
  readonly test: (body: Buffer) => boolean;
  readonly what: string;
  readonly met: () => void;
  readonly missed: (error: Error) => void;
};

/** Filled in by the protocol; read by the test. */
export class Recording {
  readonly #startedAtMs = performance.now();
  readonly #head = defer<number>();
  readonly #done = defer<Exchange>();
  readonly #chunks: Chunk[] = [];
  readonly #waiters: Set<Waiter> = new Set();
  #status = 0;
  #rawHeaders: readonly string[] = [];
  #trailers: readonly string[] = [];
  #headAtMs: number | undefined;
  #endedAtMs: number | undefined;
  #ending: Ending = 'complete';
  #error: string | undefined;

  get head(): Promise<number> {
    return this.#head.promise;
  }

  get done(): Promise<Exchange> {
    return this.#done.promise;
  }

  headArrived(status: number, rawHeaders: readonly string[]): void {
    this.#status = status;
    this.#rawHeaders = rawHeaders;
    this.#headAtMs = performance.now();
    this.#head.resolve(status);
  }

  chunkArrived(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#chunks.push({ atMs: performance.now(), bytes });
    if (this.#waiters.size > 0) this.#look();
  }

  trailersArrived(rawTrailers: readonly string[]): void {
    this.#trailers = rawTrailers;
  }

  /** Only the first call counts. */
  finish(ending: Ending, error?: string): void {
    if (this.#endedAtMs !== undefined) return;
    this.#endedAtMs = performance.now();
    this.#ending = ending;
    this.#error = error;
    this.#head.resolve(this.#status);
    this.#done.resolve(this.soFar());
    for (const waiter of this.#waiters)
      waiter.missed(new Error(`the exchange ended (${ending}) before ${waiter.what}`));
  }

  waitFor(test: (body: Buffer) => boolean, what: string): Promise<void> {
    const { promise, resolve, reject } = defer<void>();
    this.#waiters.add({ test, what, met: resolve, missed: reject });
    this.#look();
    if (this.#endedAtMs !== undefined) reject(new Error(`the exchange ended (${this.#ending}) before ${what}`));
    return promise;
  }

  soFar(): Exchange {
    return {
      status: this.#status,
      rawHeaders: this.#rawHeaders,
      headers: toRecord(this.#rawHeaders),
      chunks: [...this.#chunks],
      body: this.#body(),
      trailers: toRecord(this.#trailers),
      ending: this.#ending,
      error: this.#error,
      startedAtMs: this.#startedAtMs,
      headAtMs: this.#headAtMs,
      endedAtMs: this.#endedAtMs,
    };
  }

  #look(): void {
    const body = this.#body();
    for (const waiter of [...this.#waiters]) {
      if (!waiter.test(body)) continue;
      this.#waiters.delete(waiter);
      waiter.met();
    }
  }

  #body(): Buffer {
    return Buffer.concat(this.#chunks.map((chunk) => chunk.bytes));
  }
}

function toRecord(raw: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    const earlier = record[name];
    record[name] = earlier === undefined ? value : `${earlier}, ${value}`;
  }
  return record;
}
