/** Detached: a call that fails before its first byte is made again, once for all who wait. */
import { describe, expect, test } from 'vitest';
import type { MockScript } from '../../harness/mock-llm.ts';
import { begin } from '../../harness/http-client.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { callInOrder } from './callers.ts';

const failures: [string, Partial<MockScript>][] = [
  ['an upstream that answers 503', { status: 503 }],
  ['an upstream that breaks before its answer', { reset: 'head' }],
];

describe('three attempts', () => {
  const shared = new SharedStack({ leg: 'detached', config: { retry: { max_attempts: 3, backoff: '150ms' } } });

  test.for(failures)('%s twice: four callers share the third answer', async ([, failure]) => {
    shared.answerWith((call) => (shared.calls.indexOf(call) < 2 ? { delayMs: 300, ...failure } : {}));
    const exchanges = await allDone(await callInOrder(shared.stack, 'flaky', 4));
    expect(shared.calls).toHaveLength(3);
    expectWhole(exchanges, shared.calls[2]);
    for (const { body } of shared.calls) expect(body.toString()).toBe(shared.calls[0]?.body.toString());
    expect(await shared.counted('coalesce_upstream_calls_total')).toBe(3);
    expect(await shared.counted('coalesce_misses_total')).toBe(1);
    expect(await shared.counted('coalesce_flight_endings_total{ending="landed"}')).toBe(1);
  });

  test('the second attempt comes after half the backoff at the least, the third after twice as much', async () => {
    shared.answerWith((call) => (shared.calls.indexOf(call) < 2 ? { status: 502 } : {}));
    await begin(shared.chat('paced')).done;
    const [first = 0, second = 0, third = 0] = shared.calls.map(({ startedAtMs }) => startedAtMs);
    expect(second - first).toBeGreaterThanOrEqual(74);
    expect(third - second).toBeGreaterThanOrEqual(148);
  });

  test('a status that comes each time is shared with its body and headers', async () => {
    shared.answerWith({ status: 503, delayMs: 200, headers: [['x-should-retry', 'false']] });
    const exchanges = await allDone(await callInOrder(shared.stack, 'down', 3));
    expect(shared.calls).toHaveLength(3);
    expectWhole(exchanges, shared.calls[2], 503);
    expect(exchanges.map(({ headers }) => headers['x-should-retry'])).toEqual(['false', 'false', 'false']);
    expect(await shared.counted('coalesce_flight_endings_total{ending="failed_status"}')).toBe(1);
  });

  test('what the upstream asks for in retry-after is waited for', async () => {
    shared.answerWith((call) =>
      shared.calls.indexOf(call) === 0 ? { status: 503, headers: [['retry-after', '1']] } : {},
    );
    const exchange = await begin(shared.chat('asked to wait')).done;
    expect(exchange.status).toBe(200);
    const [first = 0, second = 0] = shared.calls.map(({ startedAtMs }) => startedAtMs);
    expect(second - first).toBeGreaterThanOrEqual(999);
  });

  test.for([400, 401, 403, 404, 429, 500])('%s is shared at once', async (status) => {
    shared.answerWith({ status, delayMs: 200, headers: [['retry-after', '9']] });
    const exchanges = await allDone(await callInOrder(shared.stack, `wrong ${status}`, 2));
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0], status);
    expect(exchanges.map(({ headers }) => headers['retry-after'])).toEqual(['9', '9']);
  });

  test('an answer that broke after its first byte is not tried again', async () => {
    shared.answerWith({ reset: 2, gapMs: 20 });
    const exchange = await begin(shared.chat('breaks late')).done;
    expect(exchange.ending).toBe('reset');
    expect(shared.calls).toHaveLength(1);
  });

  test('who joins while the flight backs off gets the next answer', async () => {
    shared.answerWith((call) =>
      shared.calls.indexOf(call) === 0 ? { status: 503, headers: [['retry-after', '2']] } : {},
    );
    const sent = await callInOrder(shared.stack, 'joined late', 1);
    await shared.waitForCalls(1);
    sent.push(...(await callInOrder(shared.stack, 'joined late', 2)));
    expectWhole(await allDone(sent), shared.calls[1]);
    expect(shared.calls).toHaveLength(2);
  });
});

describe('within the deadlines', () => {
  const shared = new SharedStack({
    leg: 'detached',
    config: { retry: { max_attempts: 10, backoff: '400ms' }, deadlines: { first_byte: '1s' } },
  });

  test('a retry that would begin after first_byte is not made: the last answer is shared', async () => {
    shared.answerWith({ status: 503 });
    const startedAt = performance.now();
    const { status } = await begin(shared.chat('no time')).done;
    expect(status).toBe(503);
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    expect(shared.calls.length).toBeLessThan(5);
  });
});

describe('an egress that cannot be reached', () => {
  // A port on which nothing listens: the discard service's.
  const shared = new SharedStack({
    leg: 'detached',
    config: { egress: 'http://127.0.0.1:9', retry: { max_attempts: 2, backoff: '50ms' } },
  });

  test('is tried once more, and then the callers are released', async () => {
    const exchanges = await allDone([1, 2, 3].map(() => begin(shared.chat('nobody there'))));
    for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
    expect(shared.calls).toHaveLength(3);
    expect(await shared.counted('coalesce_upstream_calls_total')).toBe(2 + 3);
    expect(await shared.counted('coalesce_flight_endings_total{ending="failed_connect"}')).toBe(1);
  });
});

describe('by default', () => {
  const shared = new SharedStack({ leg: 'detached' });

  test('nothing is tried again', async () => {
    shared.answerWith({ status: 503 });
    expect((await begin(shared.chat('once')).done).status).toBe(503);
    expect(shared.calls).toHaveLength(1);
  });
});
