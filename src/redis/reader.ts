/**
 * One followed answer, read from its stream once for all local callers: from the first entry on, in order, without a gap,
 * nothing that is not proven. Messages on the channel are hints; the stream is the truth. Silence is judged by this
 * machine's own clock.
 */

import type { Link } from './link/link.ts';
import { attend } from './link/scripts.ts';
import { streamTtlMs } from './publication.ts';
import { readEnd, readHead, type DatedHead, type SharedHead } from './stream/contents.ts';
import type { KeyNames } from './stream/names.ts';
import type { Opened, Seal } from './stream/seal.ts';
import type { HeaderList } from '../coalesce/request/head.ts';

export type LossReason = 'lease_lost' | 'gave_up' | 'cut' | 'unreadable' | 'redis_down';

export interface Loss {
  /** A head had come. */
  readonly answered: boolean;
  readonly why: LossReason;
}

export interface ReaderOptions {
  readonly link: Link;
  readonly names: KeyNames;
  readonly token: string;
  readonly seal: Seal;
  readonly leaseMs: number;
  /** When it began to follow, in ms since 1970 by this machine's clock. */
  readonly joinedAt: number;
  readonly began: (head: SharedHead) => void;
  readonly grew: (bytes: Uint8Array) => void;
  readonly ended: (trailers: HeaderList | null) => void;
  readonly lost: (loss: Loss) => void;
}

type State =
  | { readonly phase: 'reading' }
  /** No more is wanted for now. */
  | { readonly phase: 'held' }
  | { readonly phase: 'over' };

/** By how much the clocks of two machines may differ; by more, and they may stop sharing. */
const CLOCK_SKEW_MS = 60_000;

/** At most 64 KiB each. */
const ENTRIES_AT_ONCE = 8;

export class Reader {
  readonly #options: ReaderOptions;
  #state: State = { phase: 'reading' };
  #lastSeq = 0;
  #bytes = 0;
  /** Of an answer without a body: told with its end. */
  #head: SharedHead | null = null;
  #answered = false;
  #isFetching = false;
  /** Something may have come since the running fetch began. */
  #woken = false;
  #heardAt: number = performance.now();
  #readAt: number = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
    const { link } = options;
    this.#attend();
    this.#tick();
    // First the channel, then the stream: what is written in between is seen by one of the two.
    link.listen(this.#channel, this.#wake).then(this.#wake, () => undefined);
  }

  hold(): void {
    if (this.#state.phase === 'reading') this.#state = { phase: 'held' };
  }

  resume(): void {
    if (this.#state.phase !== 'held') return;
    this.#state = { phase: 'reading' };
    this.#heardAt = performance.now();
    this.#readAt = this.#heardAt;
    queueMicrotask(this.#wake);
  }

  /** Reads no more and tells nothing more. */
  stop(): void {
    this.#state = { phase: 'over' };
    clearTimeout(this.#timer);
    this.#options.link.unlisten(this.#channel, this.#wake);
  }

  get #channel(): string {
    return this.#options.names.flight(this.#options.token).channel;
  }

  readonly #wake = (): void => {
    if (this.#state.phase !== 'reading') return;
    if (this.#isFetching) this.#woken = true;
    else this.#fetch();
  };

  #fetch(): void {
    const { link, names, token } = this.#options;
    this.#isFetching = true;
    this.#woken = false;
    link.range(names.flight(token).stream, this.#lastSeq, ENTRIES_AT_ONCE).then(
      (entries) => {
        this.#isFetching = false;
        this.#readAt = performance.now();
        for (const entry of entries) {
          if (this.#state.phase !== 'reading') return;
          const opened = entry?.seq === this.#lastSeq + 1 ? this.#options.seal.open(entry.seq, entry.payload) : null;
          if (opened === null) return this.#lose('unreadable');
          this.#lastSeq += 1;
          this.#take(opened);
        }
        if (entries.length > 0) this.#heardAt = this.#readAt;
        if (this.#woken || entries.length === ENTRIES_AT_ONCE) this.#wake();
        else this.#judgeSilence();
      },
      () => {
        this.#isFetching = false;
      },
    );
  }

  #take({ kind, content }: Opened): void {
    switch (kind) {
      case 'head':
        return this.#takeHead(readHead(content));
      case 'bytes':
        if (!this.#answered) return this.#lose('unreadable');
        this.#bytes += content.length;
        return this.#options.grew(content);
      case 'alive':
        return;
      case 'end':
        return this.#takeEnd(content);
      case 'failure':
        return this.#lose(this.#answered ? 'cut' : 'gave_up');
    }
  }

  #takeHead(dated: DatedHead | null): void {
    if (dated === null || this.#isStale(dated) || this.#answered || this.#head !== null)
      return this.#lose('unreadable');
    const { head } = dated;
    if (head.endOfStream) {
      this.#head = head;
      return;
    }
    this.#answered = true;
    this.#options.began(head);
  }

  /**
   * A whole answer of the past, written to Redis once more: nobody could begin to follow it that late. A leader that has stopped
   * keeps its place for a lease more.
   */
  #isStale({ joinableUntil }: DatedHead): boolean {
    const { joinedAt, leaseMs } = this.#options;
    return joinedAt > joinableUntil + leaseMs + CLOCK_SKEW_MS;
  }

  #takeEnd(content: Buffer): void {
    const end = readEnd(content);
    const isWhole = end !== null && end.bytes === this.#bytes && (this.#answered || this.#head !== null);
    if (!isWhole) return this.#lose('unreadable');
    this.stop();
    if (this.#head === null) this.#options.ended(end.trailers);
    else this.#options.began(this.#head);
  }

  #lose(why: LossReason): void {
    this.stop();
    this.#options.lost({ answered: this.#answered, why });
  }

  /** Says that it is there, looks whether a hint was lost, and judges. */
  #tick(): void {
    const { leaseMs } = this.#options;
    const silentFor = performance.now() - this.#heardAt;
    const untilVerdict = Math.max(leaseMs / 20, leaseMs - silentFor);
    this.#timer = setTimeout(
      () => {
        if (this.#state.phase === 'over') return;
        this.#attend();
        // What lies in the socket already still counts: the loop may have been late, not Redis.
        if (!this.#isReachable()) setImmediate(() => this.#judgeReachability());
        this.#wake();
        this.#tick();
      },
      Math.min(leaseMs / 3, untilVerdict),
    );
  }

  /** Without bytes nobody waits for Redis to come back; with bytes it has as long as a silent leader. */
  #isReachable(): boolean {
    const { link, leaseMs } = this.#options;
    if (!this.#answered && !link.isUp()) return false;
    return performance.now() - this.#readAt <= leaseMs;
  }

  #judgeReachability(): void {
    if (this.#state.phase === 'reading' && !this.#isReachable()) this.#lose('redis_down');
  }

  /** Only a read that found nothing may say so: where our own loop was late, what came meanwhile counts first. */
  #judgeSilence(): void {
    if (this.#state.phase !== 'reading') return;
    if (performance.now() - this.#heardAt >= this.#options.leaseMs) this.#lose('lease_lost');
  }

  #attend(): void {
    const { link, names, token, leaseMs } = this.#options;
    const { stream, interest } = names.flight(token);
    const args = [String(leaseMs), String(streamTtlMs(leaseMs))];
    // The next tick says it again.
    link.run('streams', attend, { keys: [stream, interest], args }).catch(() => undefined);
  }
}
