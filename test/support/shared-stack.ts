/**
 * A stack that the tests of a block share: started before them, asked after each whether anything is left, ended behind
 * the last. What the mock answers is each test's to say, and counts begin anew with each.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { begin, chat, type ClientRequest, type Exchange, type Sent } from '../../harness/http-client.ts';
import type { MockCall, MockScript } from '../../harness/mock-llm.ts';
import { expectQuiet, type Stack, type StackOptions, startStack } from '../../harness/stack.ts';
import { Pacer } from './pacer.ts';

type Answer = Partial<MockScript> | ((call: MockCall) => Partial<MockScript>);

/** Longer than anything takes on a busy machine that is going to happen at all. */
const patience = { timeout: 25_000, interval: 20 };

/** To be made in a describe block or at the top of a file: it registers the hooks. */
export class SharedStack {
  readonly #options: StackOptions;
  readonly #pacers: Pacer[] = [];
  #stack: Stack | undefined;
  #answer: Answer = {};
  #earlierCalls = 0;
  #earlierMetrics: ReadonlyMap<string, number> = new Map();

  constructor(options: StackOptions) {
    this.#options = options;
    beforeAll(() => this.#start());
    beforeEach(() => this.#beginTest());
    afterEach(() => this.#endTest());
    afterAll(() => this.#stack?.close());
  }

  /** While the tests run. */
  get stack(): Stack {
    if (this.#stack === undefined) throw new Error('the stack runs only while its tests do');
    return this.#stack;
  }

  /** The mock's calls since the test began. */
  get calls(): MockCall[] {
    return this.stack.mock.calls.slice(this.#earlierCalls);
  }

  /** The call whose answer's bytes an exchange got, by the number in them. */
  callOf({ body }: Exchange): MockCall | undefined {
    const id = /"id":"(?:chatcmpl-|msg_)(\d+)"/.exec(body.toString())?.[1];
    return this.calls.find((call) => String(call.id) === id);
  }

  /** How the mock answers for the rest of the test; what a request's `x-mock-*` headers say is overridden. */
  answerWith(answer: Answer): void {
    this.#answer = answer;
  }

  /** Answers go on only as the test says; the end of the test opens them all. */
  pacedAnswer(script: Partial<MockScript> = {}): Pacer {
    const pacer = this.newPacer();
    this.answerWith({ ...script, pace: pacer.pace });
    return pacer;
  }

  /** A pacer that the end of the test opens. */
  newPacer(): Pacer {
    const pacer = new Pacer();
    this.#pacers.push(pacer);
    return pacer;
  }

  /** A chat call to the ingress. */
  chat(
    prompt: string,
    options: Parameters<typeof chat>[1] & { version?: 1 | 2 } = {},
  ): ClientRequest & { body: string } {
    const { version = 1, ...rest } = options;
    return { url: this.stack.ingress.url, version, ...chat(prompt, rest) };
  }

  waitForCalls(count: number): Promise<void> {
    return this.stack.mock.waitForCalls(this.#earlierCalls + count);
  }

  /** One flight: the first request leads, the others join before the answer's head. */
  async fly(requests: readonly ClientRequest[], script: Partial<MockScript> = {}): Promise<Sent[]> {
    const pacer = this.pacedAnswer(script);
    const earlierJoins = await this.counted('coalesce_hits_total');
    const sent = requests.slice(0, 1).map(begin);
    await pacer.reached('head');
    sent.push(...requests.slice(1).map(begin));
    await this.waitForJoins(earlierJoins + requests.length - 1);
    pacer.openAll();
    return sent;
  }

  /** How far a counter of the processor has moved since the test began. */
  async counted(name: string): Promise<number> {
    const samples = await this.stack.processor.metrics();
    return (samples.get(name) ?? 0) - (this.#earlierMetrics.get(name) ?? 0);
  }

  /** Says that the processor is another one, which has counted nothing yet. */
  countAnew(): void {
    this.#earlierMetrics = new Map();
  }

  /** Waits until a counter has moved so far since the test began. */
  async waitForCount(name: string, count: number): Promise<void> {
    await vi.waitFor(async () => expect(await this.counted(name), name).toBe(count), patience);
  }

  /** Waits until a gauge of the processor has this value. */
  async waitForGauge(name: string, value: number): Promise<void> {
    await vi.waitFor(async () => {
      expect((await this.stack.processor.metrics()).get(name), name).toBe(value);
    }, patience);
  }

  /** Waits until so many callers have joined a flight since the test began. */
  waitForJoins(count: number): Promise<void> {
    return this.waitForCount('coalesce_hits_total', count);
  }

  /** The ingress's access log line of the exchange with this `x-request-id`. */
  logLine(requestId: string): Promise<Record<string, unknown>> {
    return vi.waitFor(async () => {
      const lines = await this.stack.envoy.accessLog();
      const line = lines.find((each) => each['listener'] === 'ingress' && each['request_id'] === requestId);
      if (line === undefined) throw new Error(`no line of ${requestId} in the access log`);
      return line;
    }, patience);
  }

  async #start(): Promise<void> {
    const { mock = {}, ...others } = this.#options;
    const respond = (call: MockCall): Partial<MockScript> =>
      typeof this.#answer === 'function' ? this.#answer(call) : this.#answer;
    this.#stack = await startStack({ ...others, mock: { respond, ...mock } });
  }

  async #beginTest(): Promise<void> {
    this.#answer = {};
    this.#earlierCalls = this.stack.mock.callCount();
    this.#earlierMetrics = this.#hasProcessor ? await this.stack.processor.metrics() : new Map();
  }

  async #endTest(): Promise<void> {
    for (const pacer of this.#pacers.splice(0)) pacer.openAll();
    if (this.#hasProcessor) await expectQuiet(this.stack);
  }

  get #hasProcessor(): boolean {
    return this.#options.processor !== false && this.#options.filters !== false;
  }
}

/** Every one of these got this call's answer: complete, with its status and the very bytes that were sent. */
export function expectWhole(exchanges: readonly Exchange[], call: MockCall | undefined, status = 200): void {
  if (call === undefined) throw new Error('the call was not made');
  const sent = Buffer.concat(call.sent);
  const seen = exchanges.map((exchange) => [exchange.status, exchange.ending, exchange.body.equals(sent)]);
  expect(seen).toEqual(exchanges.map(() => [status, 'complete', true]));
}

/** What each got, when all are over. */
export function allDone(sent: readonly Sent[]): Promise<Exchange[]> {
  return Promise.all(sent.map(({ done }) => done));
}
