/** Clients that do not read, send half a request, or send it a byte at a time: they harm nobody else and leave nothing. */
import { type ClientRequest, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setInterval } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { begin, chat } from '../../harness/http-client.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { call, callInOrder, ends, expectWhole, legs, metric, waitForWaiters } from './callers.ts';

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({ leg, mock: upstream.options });
  });
  afterEach(() => expectQuiet(stack));
  afterAll(() => stack?.close());

  test('a follower whose client does not read slows neither the leader nor the others', async () => {
    const prompt = 'stalled reader';
    const gate = gateAt(1, { tokens: 200, tokenBytes: 32 * 1024 });
    upstream.play(prompt, gate.script);
    const all = await callInOrder(stack, prompt, 2);
    const stalled = await stalledCaller(prompt);
    all.push(call(stack, prompt));
    await waitForWaiters(stack, 3);
    const openedAt = performance.now();
    gate.open();
    expectWhole(await ends(all), upstream.calls(prompt)[0]);
    expect(performance.now() - openedAt).toBeLessThan(5_000);
    expect(upstream.calls(prompt)).toHaveLength(1);
    stalled.destroy();
  });

  /** Sends the call, takes the answer's head and then reads no more; resolves once the head has come. */
  async function stalledCaller(prompt: string): Promise<ClientRequest> {
    const { path, headers, body } = chat(prompt);
    const outgoing = request(new URL(path ?? '/', stack.ingress.url), { method: 'POST', headers, agent: false });
    outgoing.on('error', () => undefined);
    await new Promise<void>((resolve, reject) => {
      outgoing.once('error', reject);
      outgoing.once('response', (incoming) => {
        incoming.pause();
        incoming.on('error', () => undefined);
        resolve();
      });
      outgoing.end(body);
    });
    return outgoing;
  }

  test.for(['with content-length', 'chunked'] as const)(
    'half a body, %s, then a hang-up: no call, and others under the same key notice nothing',
    async (framing) => {
      const prompt = `half ${framing}`;
      const opened = await metric(stack, 'coalesce_streams');
      const socket = await sendHalf(prompt, framing);
      await until('decide’s stream', async () => (await metric(stack, 'coalesce_streams')) > opened);
      const whole = await ends([call(stack, prompt), call(stack, prompt)]);
      socket.destroy();
      await expectQuiet(stack);
      for (const exchange of whole) expect(`${exchange.status} ${exchange.ending}`).toBe('200 complete');
      const next = call(stack, prompt);
      expectWhole([await next.done], upstream.calls(prompt).at(-1));
    },
  );

  async function sendHalf(prompt: string, framing: 'with content-length' | 'chunked'): Promise<Socket> {
    const { path, headers, body } = chat(prompt);
    const half = String(body).slice(0, body.length / 2);
    const length = framing === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${Buffer.byteLength(body)}`;
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [`POST ${path} HTTP/1.1`, `host: ${stack.ingress.host}`, length, ...lines, '', ''].join('\r\n');
    const socket = connect(stack.ingress.port, stack.ingress.host);
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      socket.write(head + (framing === 'chunked' ? `${half.length.toString(16)}\r\n${half}\r\n` : half), () =>
        resolve(),
      );
    });
    return socket;
  }

  test('a body that comes a byte at a time, over more than decide’s timeout, is answered, and shares as usual', async () => {
    const prompt = 'trickle';
    const gate = gateAt('head');
    upstream.play(prompt, gate.script);
    const { body: _, ...rest } = chat(prompt);
    const slow = begin({ url: stack.ingress.url, ...rest, body: trickle(chat(prompt).body) });
    await until('decide’s stream', async () => (await metric(stack, 'coalesce_streams')) > 0);
    const others = [call(stack, prompt), call(stack, prompt)];
    await waitForWaiters(stack, 2);
    gate.open();
    const exchanges = await ends([slow, ...others]);
    expectWhole(exchanges, upstream.calls(prompt)[0]);
    expect(upstream.calls(prompt)).toHaveLength(1);
  });
});

/** The text, mostly at once, its last bytes one a while: a client that is slow, in bounded time. */
async function* trickle(text: string): AsyncGenerator<Uint8Array> {
  const slowBytes = 6;
  yield Buffer.from(text.slice(0, -slowBytes));
  const ticks = setInterval(1_000)[Symbol.asyncIterator]();
  for (const byte of Buffer.from(text.slice(-slowBytes))) {
    await ticks.next();
    yield Buffer.of(byte);
  }
  await ticks.return?.();
}
