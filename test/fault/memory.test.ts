/** Memory under crowds: an answer is held once whatever the number of its callers, and what exchanges took comes back. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { chat } from '../../harness/http-client.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { waitLong } from '../support/patient-envoy.ts';
import { legs, waitForWaiters } from './callers.ts';

const MiB = 1024 * 1024;
const crowd = 1_000;
/** 40 MB. */
const LARGEST_MIB = 40e6 / MiB;

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    const limits = { max_waiters: crowd, max_loop_delay: '60s' };
    stack = await startStack({ leg, mock: upstream.options, config: { limits }, mutateEnvoy: waitLong });
  });
  afterEach(() => expectQuiet(stack));
  afterAll(() => stack?.close());

  test('1,000 callers of one answer of 1 MiB cost less than 40 MB, the first time too', async () => {
    const growths: number[] = [];
    // What else runs on the machine can only add to it: garbage waits longer, and so do bytes for Envoy to take them.
    while (growths.length < 3 && Math.min(...growths) >= LARGEST_MIB) {
      if (growths.length > 0) await stack.processor.restart();
      await exchange(2_000, `ordinary traffic ${growths.length}`, 1);
      await expectQuiet(stack);
      const before = await rssMiB();
      growths.push((await answerCrowd(`crowd ${growths.length}`)) - before);
    }
    expect(Math.min(...growths), growths.join(', ')).toBeLessThan(LARGEST_MIB);
  }, 240_000);

  test('a process that has served nobody yet grows as it starts to work, and holds no copies of the answer', async () => {
    await stack.processor.restart();
    const before = await rssMiB();
    const externalBefore = await externalMiB();
    let external = 0;
    const watch = setInterval(() => void externalMiB().then((now) => (external = Math.max(external, now))), 200);
    const peak = await answerCrowd('a cold start');
    clearInterval(watch);
    // Some 45 MiB of it any 2,000 requests take, crowd or not: compiled code, and the room that Node gives its heap.
    expect(peak - before).toBeLessThan(110);
    expect(external - externalBefore).toBeLessThan(16);
  }, 180_000);

  /** As many callers as a crowd has, at once, for an answer of 1 MiB; returns the highest RSS seen. */
  async function answerCrowd(prompt: string): Promise<number> {
    const gate = gateAt('head', { tokens: 128, tokenBytes: MiB / 128 });
    upstream.play(prompt, gate.script);
    const answers = Array.from({ length: 1 + crowd }, () => digestOfAnswer(prompt));
    await waitForWaiters(stack, crowd, 30_000);
    let peak = await rssMiB();
    const watch = setInterval(() => void rssMiB().then((now) => (peak = Math.max(peak, now))), 10);
    gate.open();
    const digests = new Set(await Promise.all(answers));
    clearInterval(watch);
    const [call, ...others] = upstream.calls(prompt);
    expect(others).toEqual([]);
    expect([...digests]).toEqual([`200 ${sha256(Buffer.concat(call?.sent ?? []))}`]);
    return peak;
  }

  test('after 10,000 exchanges the process is about as large as before them', async () => {
    await exchange(5_000, 'a warm-up', 4);
    const sizes = [await lowestRssMiB()];
    for (const round of ['first', 'second']) {
      await exchange(5_000, round, 4);
      sizes.push(await lowestRssMiB());
    }
    // The heap breathes by some MiB: a leak grows it in both rounds.
    const [first = 0, second = 0, third = 0] = sizes;
    expect(Math.min(second - first, third - second)).toBeLessThan(8);
  }, 120_000);

  /** Each prompt is asked by so many at once. */
  async function exchange(count: number, name: string, callers: number): Promise<void> {
    const agent = new Agent({ keepAlive: true });
    let asked = 0;
    const askOn = async (): Promise<void> => {
      while (asked < count) await digestOfAnswer(`${name} ${Math.floor(asked++ / callers)}`, agent);
    };
    await Promise.all(Array.from({ length: 32 }, askOn));
    agent.destroy();
  }

  /** Reads the answer without keeping it: a thousand of them are a lot for the test's own process too. */
  function digestOfAnswer(prompt: string, agent: Agent = new Agent()): Promise<string> {
    const { path, headers, body } = chat(prompt);
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(path ?? '/', stack.ingress.url), { method: 'POST', headers, agent });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        const hash = createHash('sha256');
        incoming.on('data', (bytes: Buffer) => hash.update(bytes));
        incoming.on('error', reject);
        incoming.on('end', () => resolve(`${incoming.statusCode} ${hash.digest('hex')}`));
      });
      outgoing.end(body);
    });
  }

  async function rssMiB(): Promise<number> {
    const text = await readFile(`/proc/${stack.processor.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1024;
  }

  /** What its buffers take. */
  async function externalMiB(): Promise<number> {
    return ((await stack.processor.metrics()).get('nodejs_external_memory_bytes') ?? Infinity) / MiB;
  }

  /** Over a while at rest: each look at the metrics makes a little garbage, which Node collects now and then. */
  async function lowestRssMiB(): Promise<number> {
    await expectQuiet(stack);
    let lowest = Infinity;
    for (let look = 0; look < 50; look += 1) {
      await stack.processor.metrics();
      lowest = Math.min(lowest, await rssMiB());
    }
    return lowest;
  }
});

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
