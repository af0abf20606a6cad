/**
 * The upstream that fails in every way: it draws what becomes of each call and keeps the record of it, which is what the
 * judge believes. Sending it is the mock LLM's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { pick, type Random } from '../harness/fuzz/mutate.ts';
import type { BreakPoint, MockCall, MockScript } from '../harness/mock-llm.ts';
import { answerTo, digestOf, type Question, questionOf, type Size } from './answers.ts';

/** How an answer fails; null: it does not. */
export type Fault = 'reset before the head' | 'reset after the head' | 'cut' | 'hang before the head' | 'hang' | null;

/** One call and what it was answered. Times are of `performance.now()`. */
export type CallRecord = {
  readonly id: number;
  readonly question: Question;
  readonly digest: string;
  /** Of the caller whose request this is, or, on the egress, of the first caller of its flight. */
  readonly requestId: string;
  readonly viaEgress: boolean;
  readonly status: number;
  readonly fault: Fault;
  /** Null: no body at all. */
  readonly size: Size | null;
  readonly startedAtMs: number;
  readonly endedAtMs: () => number | undefined;
};

/** What the egress adds to its calls. */
export const egressMark = 'x-chaos-egress';

/** How long a hanging answer hangs before it breaks. */
const hangMs = 12_000;

const errorStatuses = [400, 401, 403, 404, 413, 422, 429, 500, 502, 503, 504, 529];
const cuts: readonly Fault[] = [
  'reset before the head',
  'reset after the head',
  'cut',
  'cut',
  'hang before the head',
  'hang',
];

export class Upstream {
  readonly records: Map<number, CallRecord> = new Map();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The mock's `respond`. */
  respond(call: MockCall): Partial<MockScript> {
    const question = questionOf(call);
    const { fault, status, size, script } = this.#draw();
    this.records.set(call.id, {
      id: call.id,
      question,
      digest: digestOf(question),
      requestId: String(call.headers['x-request-id']),
      viaEgress: call.headers[egressMark] !== undefined,
      status,
      fault,
      size,
      startedAtMs: call.startedAtMs,
      endedAtMs: () => call.endedAtMs,
    });
    // The record can make the bytes again; a long run need not hold them.
    void call.ended.then(() => (call.sent.length = 0));
    if (size === null) return { ...script, status, body: 'none', framing: 'length' };
    const chunks = answerTo(question, call.id, size);
    const type = question.stream && status === 200 ? 'text/event-stream' : 'application/json';
    const headers = [['content-type', type] as const, ...(status === 429 ? [['retry-after', '1'] as const] : [])];
    const mayCount = status !== 200 || !(question.stream || script.trailers);
    const framing = mayCount && this.#chance(0.5) ? 'length' : 'chunked';
    return { ...script, status, headers, body: chunks, framing, ...this.#breaking(fault, chunks.length) };
  }

  #draw(): { fault: Fault; status: number; size: Size | null; script: Partial<MockScript> } {
    const size = { parts: this.#upTo(40), partBytes: this.#upTo(600) };
    const pace = { delayMs: this.#upTo(200), gapMs: this.#upTo(40) };
    const draw = this.#random();
    if (draw < 0.12) return { fault: pick(cuts, this.#random), status: 200, size, script: pace };
    if (draw < 0.2) {
      return { fault: null, status: pick(errorStatuses, this.#random), size: { parts: 1, partBytes: 100 }, script: {} };
    }
    if (draw < 0.22) return { fault: null, status: 204, size: null, script: {} };
    if (draw < 0.24) return { fault: null, status: 200, size: { parts: 3, partBytes: 500_000 }, script: { gapMs: 50 } };
    if (draw < 0.3) return { fault: null, status: 200, size, script: { ...pace, trailers: [['x-end', 'yes']] } };
    if (draw < 0.36) return { fault: null, status: 200, size, script: { delayMs: 1_000, gapMs: 60 } };
    return { fault: null, status: 200, size, script: pace };
  }

  #breaking(fault: Fault, chunks: number): Partial<MockScript> {
    const inside = 1 + Math.floor(this.#random() * (chunks - 1));
    switch (fault) {
      case null:
        return {};
      case 'reset before the head':
        return { reset: 'head' };
      case 'reset after the head':
        return { reset: 0 };
      case 'cut':
        return { reset: inside };
      case 'hang before the head':
        return { reset: 'head', pace: hangAt('head') };
      case 'hang':
        return { reset: inside, pace: hangAt(inside) };
    }
  }

  #chance(part: number): boolean {
    return this.#random() < part;
  }

  #upTo(most: number): number {
    return 1 + Math.floor(this.#random() * most);
  }
}

function hangAt(place: BreakPoint): (step: BreakPoint) => Promise<void> {
  return async (step) => {
    if (step === place) await delay(hangMs);
  };
}
