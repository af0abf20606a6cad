/**
 * The load: callers that ask the same, or something of their own, over either protocol, read fast or slowly, hang up, and ask
 * again where an answer failed. What they saw is handed on; whether it was right is the judge's.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Recording } from '../harness/client/recording.ts';
import { pick, type Random } from '../harness/fuzz/mutate.ts';
import { begin, type ClientRequest, type Sent } from '../harness/http-client.ts';
import { type Question, requestFor } from './answers.ts';
import type { Asked, Verdict } from './judge.ts';

/** At once. */
const callerCount = 48;
/** Longer than any deadline, the upstream's longest hang, keepalive and a busy machine together. */
const boundMs = 45_000;
const slowPauseMs = 150;
const slowPauses = 20;
const attempts = 3;

export type Load = {
  /** One for each instance. */
  readonly urls: readonly string[];
  readonly random: Random;
  /** Takes what a request came to, and says what it is worth. */
  readonly onOver: (asked: Asked) => Verdict;
  /** Told when a client hangs up of its own will. */
  readonly onLeft: (requestId: string) => void;
};

/** Runs the load until the signal; resolves when every request is over. */
export async function runLoad(load: Load, signal: AbortSignal): Promise<void> {
  const pool = new Pool(load.random);
  await Promise.all(Array.from({ length: callerCount }, () => callOnAndOn(load, pool, signal)));
}

async function callOnAndOn(load: Load, pool: Pool, signal: AbortSignal): Promise<void> {
  const { random } = load;
  while (!signal.aborted) {
    const question = pool.draw();
    for (let attempt = 1; attempt <= attempts && !signal.aborted; attempt += 1) {
      const verdict = load.onOver(await ask(load, question));
      if (verdict.kind !== 'cut' && verdict.kind !== 'unreachable') break;
      await delay(100 + random() * 100);
    }
    await delay(random() * 100);
  }
}

/** Questions that many ask at once, changing as time goes by, and some that nobody else asks. */
class Pool {
  readonly #random: Random;
  readonly #shared: Question[];
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#shared = Array.from({ length: 6 }, () => this.#next());
  }

  draw(): Question {
    const draw = this.#random();
    if (draw < 0.2) return this.#next();
    const place = Math.floor(this.#random() * this.#shared.length);
    const found = this.#shared[place] ?? this.#next();
    if (draw < 0.25) this.#shared[place] = this.#next();
    // The same words from another tenant, or as one JSON text, are another question.
    if (draw < 0.35) return { ...found, tenant: pick(tenants, this.#random) };
    if (draw < 0.4) return { ...found, stream: !found.stream };
    return found;
  }

  #next(): Question {
    this.#count += 1;
    return {
      prompt: `question ${this.#count}`,
      tenant: pick(tenants, this.#random),
      api: this.#random() < 0.5 ? 'openai' : 'anthropic',
      stream: this.#random() < 0.7,
    };
  }
}

const tenants = ['tenant-a', 'tenant-b', 'tenant-c'];

async function ask(load: Load, question: Question): Promise<Asked> {
  const { random } = load;
  const id = randomUUID();
  const plain = requestFor(question);
  const headers = { ...plain.headers, 'x-request-id': id };
  const [only = ''] = load.urls;
  const url = load.urls.length > 1 ? pick(load.urls, random) : only;
  const request: ClientRequest = { url, ...plain, headers, version: random() < 0.5 ? 1 : 2 };
  const draw = random();
  const isSlow = draw < 0.08;
  const sent = isSlow ? beginSlowly(request) : begin(request);
  const watch = new AbortController();
  const leaves = draw > 0.88 ? leaveAfter(random() * random() * 3_000) : undefined;
  const overdue = delay(boundMs, 'overdue' as const, { signal: watch.signal }).catch(() => 'over' as const);
  const first = await Promise.race([sent.done, overdue]);
  watch.abort();
  if (first === 'overdue') sent.leave();
  await leaves;
  const exchange = await sent.done;
  return { id, question, exchange, overdue: first === 'overdue', lagMs: isSlow ? slowPauses * slowPauseMs : 0 };

  async function leaveAfter(ms: number): Promise<void> {
    await Promise.race([delay(ms, undefined, { signal: watch.signal }).catch(() => undefined), sent.done]);
    if (sent.soFar().endedAtMs !== undefined) return;
    load.onLeft(id);
    sent.leave();
  }
}

/** A client that reads its first pieces with a pause after each; over HTTP/1.1. */
function beginSlowly(request: ClientRequest): Pick<Sent, 'done' | 'soFar' | 'leave'> {
  const recording = new Recording();
  const agent = new Agent({ keepAlive: true });
  const { url, path, headers, body } = request;
  const outgoing = httpRequest(new URL(path ?? '/', url), { agent, method: 'POST', headers: { ...headers } });
  const fail = (error: NodeJS.ErrnoException): void => recording.finish('reset', error.code ?? error.message);
  void recording.done.then(() => agent.destroy());
  outgoing.on('error', fail);
  outgoing.on('response', (incoming) => {
    recording.headArrived(incoming.statusCode ?? 0, incoming.rawHeaders);
    incoming.on('error', fail);
    void (async () => {
      let pauses = 0;
      for await (const bytes of incoming) {
        recording.chunkArrived(bytes as Buffer);
        if (pauses < slowPauses) await delay(slowPauseMs);
        pauses += 1;
      }
      recording.finish(incoming.complete ? 'complete' : 'reset');
    })().catch(fail);
  });
  outgoing.end(typeof body === 'string' ? body : undefined);
  return {
    done: recording.done,
    soFar: () => recording.soFar(),
    leave: () => {
      recording.finish('left');
      outgoing.destroy();
    },
  };
}
