/** The mock LLM and the raw client against each other, without Envoy: what a test reads from them is what happened. */
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { begin, burst, chat, type ClientRequest, type Exchange, send } from '../../harness/http-client.ts';
import { type BreakPoint, type MockLlm, type MockOptions, startMockLlm, textFor } from '../../harness/mock-llm.ts';

const open: MockLlm[] = [];
afterEach(async () => {
  for (const mock of open.splice(0)) await mock.close();
});

async function start(options: MockOptions = {}): Promise<MockLlm> {
  const mock = await startMockLlm(options);
  open.push(mock);
  return mock;
}

function scripted(
  mock: MockLlm,
  headers: Record<string, string>,
  body: object = {},
): ClientRequest & { readonly body: string } {
  return { url: mock.url, ...chat('hello', { headers, body }) };
}

describe('an answer', () => {
  test('has the prompt’s text and the call’s number, in the bytes that the mock recorded', async () => {
    const mock = await start();
    const request = scripted(mock, {}, { stream: false });
    const [first, second] = [await send(request), await send(request)];
    const json = JSON.parse(second.body.toString()) as { id: string; choices: [{ message: { content: string } }] };
    expect(json.id).toBe('chatcmpl-2');
    expect(json.choices[0].message.content).toBe(textFor(request.body, { tokens: 10, tokenBytes: 0 }));
    expect(Buffer.concat(mock.calls[0]?.sent ?? [])).toEqual(first.body);
  });

  test('comes token by token, with the script’s gap', async () => {
    const mock = await start();
    const { chunks } = await send(scripted(mock, { 'x-mock-tokens': '3', 'x-mock-gap-ms': '30' }));
    expect(chunks).toHaveLength(3);
    expect((chunks[2]?.atMs ?? 0) - (chunks[0]?.atMs ?? 0)).toBeGreaterThan(50);
  });

  test('is compressed for a client that accepts it, and only then', async () => {
    const mock = await start({ script: { gzip: true } });
    const plain = await send(scripted(mock, {}, { stream: false }));
    const packed = await send(scripted(mock, { 'accept-encoding': 'gzip' }, { stream: false }));
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(gunzipSync(packed.body).toString().replace('-2', '-1')).toBe(plain.body.toString());
  });

  test('has the script’s status, headers and trailers', async () => {
    const mock = await start();
    const script = {
      'x-mock-status': '429',
      'x-mock-headers': '{"retry-after":"3"}',
      'x-mock-trailers': '{"x-sum":"1"}',
    };
    const exchange = await send(scripted(mock, script));
    expect([exchange.status, exchange.headers['retry-after'], exchange.trailers]).toEqual([429, '3', { 'x-sum': '1' }]);
  });
});

describe('an exchange ends', () => {
  const whole: Array<[string, Record<string, string>]> = [
    ['chunked', {}],
    ['with its length', { 'x-mock-framing': 'length' }],
    ['with its connection', { 'x-mock-framing': 'close' }],
    ['without a body', { 'x-mock-body': 'none' }],
    ['with 204', { 'x-mock-status': '204', 'x-mock-body': 'none' }],
  ];
  test.each(whole)('complete, %s', async (_how, headers) => {
    expect((await send(scripted(await start(), headers))).ending).toBe('complete');
  });

  const cut: Array<[string, Record<string, string>]> = [
    ['before the head', { 'x-mock-reset': 'head' }],
    ['in mid-stream', { 'x-mock-reset': '2' }],
    ['of a known length', { 'x-mock-reset': '2', 'x-mock-framing': 'length' }],
  ];
  test.each(cut)('reset, where the answer is cut %s', async (_where, headers) => {
    const mock = await start();
    expect((await send(scripted(mock, headers))).ending).toBe('reset');
    await mock.calls[0]?.ended;
    expect(mock.calls[0]?.aborted).toBe(false);
  });

  test('left, where the client hangs up, and the mock sees it', async () => {
    const mock = await start();
    const sent = begin(scripted(mock, { 'x-mock-hang': '2' }));
    await sent.waitForText('.1 ');
    sent.leave();
    const exchange: Exchange = await sent.done;
    await mock.calls[0]?.ended;
    expect([exchange.ending, mock.calls[0]?.aborted, mock.active()]).toEqual(['left', true, 0]);
  });
});

test('a test sets the pace, step by step, and calls under way are counted', async () => {
  const steps: BreakPoint[] = [];
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const mock = await start({ respond: () => ({ tokens: 1, pace: (step) => (steps.push(step), gate) }) });
  const sent = burst(3, scripted(mock, {}));
  await mock.waitForCalls(3);
  expect([mock.active(), mock.peakActive()]).toEqual([3, 3]);
  release();
  const exchanges = await Promise.all(sent.map(({ done }) => done));
  expect(exchanges.map(({ ending }) => ending)).toEqual(['complete', 'complete', 'complete']);
  expect(steps.filter((step) => step === 'head')).toHaveLength(3);
  await Promise.all(mock.calls.map(({ ended }) => ended));
  expect([mock.active(), mock.peakActive()]).toEqual([0, 3]);
});
