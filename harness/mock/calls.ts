/**
 * The mock LLM's record: every call as it arrived and what became of it, and how many were under way at once. Answering
 * them is left to send.ts.
 */
import type { IncomingMessage } from 'node:http';
import { defer } from '../deferred.ts';

/** A call as it arrived, and what became of it. Times are of `performance.now()`, in milliseconds. */
export type MockCall = {
  /** Counted from 1; in the answer as the header `x-mock-call` and in its `id`. */
  readonly id: number;
  /** When its head had arrived. */
  readonly startedAtMs: number;
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  readonly headers: Readonly<IncomingMessage['headers']>;
  /** Empty until the body has arrived; `onCall` and `respond` see it whole. */
  body: Buffer;
  /** In hex. */
  bodySha256: string;
  /** The body's bytes as they were sent so far, before any transfer coding. */
  readonly sent: Buffer[];
  /** Calls under way when this one arrived, itself included. */
  readonly concurrency: number;
  /** When it was over; undefined while it is under way. */
  endedAtMs: number | undefined;
  /** The peer left before the answer was over; never set where the script broke it off. */
  aborted: boolean;
  /** Settles when the call is over. */
  readonly ended: Promise<void>;
};

/** All calls of one mock, in order of arrival. */
export class CallLog {
  readonly calls: MockCall[] = [];
  active = 0;
  peakActive = 0;
  readonly #arrivals: Set<() => void> = new Set();

  /** Records a call whose head has arrived; `end` is to be called when it is over. */
  arrive(request: IncomingMessage): { call: MockCall; end: () => void } {
    this.active += 1;
    this.peakActive = Math.max(this.peakActive, this.active);
    const ended = defer<void>();
    const call: MockCall = {
      id: this.calls.length + 1,
      startedAtMs: performance.now(),
      method: request.method ?? '',
      url: request.url ?? '',
      rawHeaders: request.rawHeaders,
      headers: request.headers,
      body: Buffer.alloc(0),
      bodySha256: '',
      sent: [],
      concurrency: this.active,
      endedAtMs: undefined,
      aborted: false,
      ended: ended.promise,
    };
    const end = (): void => {
      if (call.endedAtMs !== undefined) return;
      call.endedAtMs = performance.now();
      this.active -= 1;
      ended.resolve();
    };
    this.calls.push(call);
    for (const look of [...this.#arrivals]) look();
    return { call, end };
  }

  /** Resolves once so many calls have arrived in all; throws after the timeout. */
  waitForCalls(count: number, timeoutMs = 10_000): Promise<void> {
    const { promise, resolve, reject } = defer<void>();
    const timer = setTimeout(
      () => finish(new Error(`${this.calls.length} of ${count} calls after ${timeoutMs} ms`)),
      timeoutMs,
    );
    const look = (): void => {
      if (this.calls.length >= count) finish();
    };
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      this.#arrivals.delete(look);
      if (error === undefined) resolve();
      else reject(error);
    };
    this.#arrivals.add(look);
    look();
    return promise;
  }
}
