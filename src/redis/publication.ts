/**
 * One led flight's answer on its way into Redis: batched while the one before is under way, sealed, kept alive, ended
 * once. Whatever goes wrong here ends the publication and never the flight.
 */

import type { Link } from './link/link.ts';
import { publish, release } from './link/scripts.ts';
import type { Ledger } from './ledger.ts';
import { joinBytes, type Entry } from './stream/entries.ts';
import type { KeyNames } from './stream/names.ts';
import type { Seal } from './stream/seal.ts';
import { StreamWindow } from './stream/window.ts';
import { isReadOnly } from './wellness.ts';

export interface PublicationOptions {
  readonly link: Link;
  readonly names: KeyNames;
  readonly token: string;
  readonly seal: Seal;
  readonly leaseMs: number;
  /** Of the stream; older entries are dropped, and with the first of them joining ends. So much may wait to be written, too. */
  readonly maxStreamBytes: number;
  /** Of all publications: bytes that wait to be written. */
  readonly unwritten: Ledger;
  /** A write was refused: another instance may lead by now. */
  readonly fenced: () => void;
}

/** Sealed entries in the order of their places; written as they are, however often it is tried. */
interface Batch {
  readonly entries: readonly Buffer[];
  readonly firstSeq: number;
  /** Of the contents. */
  readonly bytes: number;
  readonly isLast: boolean;
}

type State =
  /** Nothing is on its way. */
  | { readonly phase: 'idle' }
  | { readonly phase: 'scheduled' }
  | { readonly phase: 'writing'; readonly batch: Batch }
  | { readonly phase: 'over' };

const BATCH_BYTES = 256 * 1024;
const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 400;

export class Publication {
  readonly #options: PublicationOptions;
  readonly #window: StreamWindow;
  #heartbeat: NodeJS.Timeout | undefined;
  #state: State = { phase: 'idle' };
  #pending: Entry[] = [];
  #pendingBytes = 0;
  /** The last has been said: nothing more is taken. */
  #closed = false;
  #takesJoiners = true;
  #followed = false;
  #nextSeq = 1;
  #writtenAt: number = performance.now();
  /** Resolves when nothing more is written. */
  readonly over: Promise<void>;
  #tellOver: () => void = () => undefined;

  constructor(options: PublicationOptions) {
    this.#options = options;
    this.over = new Promise((resolve) => {
      this.#tellOver = resolve;
    });
    this.#window = new StreamWindow(options.maxStreamBytes);
    this.#beatLater();
  }

  /** Whether anybody on another instance has read within the last lease, as far as the last write told. Nobody reads what is over. */
  get isFollowed(): boolean {
    return this.#followed && !this.isOver;
  }

  get isOver(): boolean {
    return this.#state.phase === 'over';
  }

  /** Bytes of `content` are read until they are written. */
  append(kind: 'head' | 'bytes', content: Uint8Array): void {
    if (this.#closed || content.length === 0) return;
    this.#push({ kind, content });
    if (this.#pendingBytes > this.#options.maxStreamBytes || this.#options.unwritten.isFull) this.fail();
  }

  /** The answer is whole. */
  end(content: Uint8Array): void {
    this.#close('end', content);
  }

  /** It never will be. What waits to be written is dropped. */
  fail(): void {
    if (this.#closed) return;
    this.#dropPending();
    this.#close('failure', new Uint8Array(0));
  }

  /** Writes nothing more, not even that it fails. */
  abandon(): void {
    if (!this.isOver) this.#finish();
  }

  closeJoining(): void {
    if (!this.#takesJoiners || this.isOver) return;
    this.#takesJoiners = false;
    const { link, names, token } = this.#options;
    const keys = [names.pointer, names.flight(token).writer] as const;
    // The next write says it too.
    link.run('decisions', release, { keys, args: [token, 'joining'] }).catch(() => undefined);
  }

  #close(kind: 'end' | 'failure', content: Uint8Array): void {
    if (this.#closed) return;
    this.#closed = true;
    // Its own instance's next claim of the key goes the same way, and so finds it free.
    this.closeJoining();
    if (!this.isOver) this.#push({ kind, content });
  }

  #push(entry: Entry): void {
    if (this.isOver) return;
    this.#pending.push(entry);
    this.#pendingBytes += entry.content.length;
    this.#options.unwritten.add(entry.content.length);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#state.phase !== 'idle') return;
    this.#state = { phase: 'scheduled' };
    setImmediate(() => {
      if (this.#state.phase === 'scheduled') this.#write(this.#takeBatch(), 0);
    });
  }

  /** A third of a lease after the last write, so that from write to write it is never longer than that and a write's own time. */
  #beatLater(): void {
    clearTimeout(this.#heartbeat);
    this.#heartbeat = setTimeout(() => this.#beat(), this.#options.leaseMs / 3);
  }

  /** What is on its way already says that this instance lives. */
  #beat(): void {
    if (this.#state.phase === 'idle') this.#push({ kind: 'alive', content: new Uint8Array(0) });
  }

  #takeBatch(): Batch {
    const taken: Entry[] = [];
    let bytes = 0;
    while (bytes < BATCH_BYTES) {
      const next = this.#pending.shift();
      if (next === undefined) break;
      taken.push(next);
      bytes += next.content.length;
    }
    this.#pendingBytes -= bytes;
    const firstSeq = this.#nextSeq;
    const entries = joinBytes(taken).map(({ kind, content }) => {
      const sealed = this.#options.seal.close(this.#nextSeq, kind, content);
      this.#nextSeq += 1;
      return sealed;
    });
    const isLast = this.#closed && this.#pending.length === 0;
    return { entries, firstSeq, bytes, isLast };
  }

  /** `failures`: how often it was tried before. */
  #write(batch: Batch, failures: number): void {
    this.#state = { phase: 'writing', batch };
    const { link, names, token } = this.#options;
    const { writer, stream, interest } = names.flight(token);
    const call = { keys: [writer, stream, names.pointer, interest] as const, args: this.#argsOf(batch, failures) };
    link.run('streams', publish, call).then(
      (reply) => this.#written(batch, reply),
      (error: unknown) => this.#retry(batch, failures + 1, error),
    );
  }

  #argsOf(batch: Batch, failures: number): (string | Buffer)[] {
    const { names, token, leaseMs } = this.#options;
    if (failures === 0) batch.entries.forEach((entry, index) => this.#window.add(batch.firstSeq + index, entry.length));
    const keepFrom = this.#window.firstToKeep;
    if (keepFrom !== null) this.#takesJoiners = false;
    const phase = batch.isLast ? 'last' : this.#takesJoiners ? 'open' : 'closed';
    const times = [String(leaseMs), String(streamTtlMs(leaseMs))];
    const head = [
      token,
      ...times,
      names.flight(token).channel,
      phase,
      failures === 0 ? 'first' : 'again',
      keepFrom === null ? '' : String(keepFrom),
    ];
    return [...head, ...batch.entries.flatMap((entry, index) => [String(batch.firstSeq + index), entry])];
  }

  #written(batch: Batch, reply: unknown): void {
    if (this.#state.phase !== 'writing') return;
    this.#writtenAt = performance.now();
    if (reply === -1) this.#options.fenced();
    if (reply === -1 || batch.isLast) {
      this.#finish();
      return;
    }
    this.#options.unwritten.remove(batch.bytes);
    this.#followed = reply === 1;
    this.#state = { phase: 'idle' };
    this.#beatLater();
    if (this.#pending.length > 0) this.#schedule();
  }

  /** Whether it was written is not known, so it is tried with the very same entries; for as long as the lease may hold. */
  #retry(batch: Batch, failures: number, error: unknown): void {
    if (this.#state.phase !== 'writing') return;
    if (isReadOnly(error)) this.#options.link.renew(error);
    if (performance.now() - this.#writtenAt < this.#options.leaseMs) {
      setTimeout(
        () => {
          if (this.#state.phase === 'writing') this.#write(batch, failures);
        },
        Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS),
      );
      return;
    }
    this.#finish();
  }

  #finish(): void {
    clearTimeout(this.#heartbeat);
    if (this.#state.phase === 'writing') this.#options.unwritten.remove(this.#state.batch.bytes);
    this.#dropPending();
    this.#closed = true;
    this.#state = { phase: 'over' };
    this.#tellOver();
  }

  #dropPending(): void {
    this.#options.unwritten.remove(this.#pendingBytes);
    this.#pending = [];
    this.#pendingBytes = 0;
  }
}

/** Long enough for a reader that says every third of a lease that it is there. */
export function streamTtlMs(leaseMs: number): number {
  return 4 * leaseMs;
}
