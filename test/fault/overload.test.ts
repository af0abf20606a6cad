/**
 * More than the upstream or the processor can take: 3,000 different prompts against 50 slots, and 3,000 exchanges at a
 * processor whose event loop stands still. Callers get an answer or a 429, and never an error of ours.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { begin, chat, type Exchange, openSession } from '../../harness/http-client.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { ends, legs } from './callers.ts';

const crowd = 3_000;
const slots = 50;
const maxWaitMs = 20_000;
/** HTTP/2, shared by the callers: a socket each would only measure the machine. */
const connections = 20;

describe.each(legs)('%s', (leg) => {
  let stack: Stack;

  afterEach(() => stack?.close());

  async function start(config: object): Promise<void> {
    stack = await startStack({ leg, config: { ...config }, mock: { script: { delayMs: 100 } } });
  }

  /** Begins `crowd` calls with a prompt each, two tenants in turn, and waits for all. */
  async function callAll(word: string, body: object): Promise<Exchange[]> {
    const sessions = await Promise.all(Array.from({ length: connections }, () => openSession(stack.ingress.url)));
    try {
      return await ends(
        Array.from({ length: crowd }, (_, index) => {
          const session = sessions[index % connections];
          const request = chat(`${word} ${index}`, { credential: `tenant-${index % 2}`, body });
          return begin({ url: stack.ingress.url, version: 2, ...(session && { session }), ...request });
        }),
      );
    } finally {
      for (const session of sessions) session.destroy();
    }
  }

  test('never more than 50 calls at once; the rest get 429 with Retry-After in time; no tenant starves', async () => {
    await start({ admission: { max_upstream: slots, max_queue: 1_000, max_wait: `${maxWaitMs / 1000}s` } });
    const exchanges = await callAll('distinct', { stream: false });
    const calls = stack.mock.calls;
    const served = exchanges.filter(({ status }) => status === 200);
    const shed = exchanges.filter(({ status }) => status === 429);
    expect(stack.mock.peakActive()).toBe(slots);
    expect(served.length + shed.length).toBe(crowd);
    expect(calls).toHaveLength(served.length);
    expect(served.length).toBeGreaterThan(slots);
    expect(exchanges.every(({ ending }) => ending === 'complete')).toBe(true);
    for (const { headers, startedAtMs, endedAtMs } of shed) {
      expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect((endedAtMs ?? Infinity) - startedAtMs).toBeLessThan(maxWaitMs + 10_000);
    }
    const ofFirst = calls.filter(({ headers }) => headers['authorization'] === 'Bearer tenant-0').length;
    expect(ofFirst / calls.length).toBeGreaterThan(0.4);
    expect(ofFirst / calls.length).toBeLessThan(0.6);
    const metrics = await stack.processor.metrics();
    expect(metrics.get('coalesce_bypass_total{reason="overload"}')).toBe(0);
    expect(metrics.get('coalesce_bypass_total{reason="limit"}')).toBe(0);
    await expectQuiet(stack);
  }, 90_000);

  test('an event loop that stood still for 3 s: what waited then passes by, without an error', async () => {
    await start({});
    stack.processor.kill('SIGSTOP');
    const calling = callAll('late', { stream: false });
    await until('requests at the processor', async () => {
      const open = await stack.envoy.stats('^http.ingress.downstream_rq_active$');
      return [...open.values()].some((count) => count > 1_000);
    });
    const stoppedAt = performance.now();
    await until('3 s to pass', () => Promise.resolve(performance.now() - stoppedAt > 3_000));
    stack.processor.kill('SIGCONT');
    const exchanges = await calling;
    expect(new Set(exchanges.map(({ status, ending }) => `${status} ${ending}`))).toEqual(new Set(['200 complete']));
    expect(stack.mock.callCount()).toBe(crowd);
    const metrics = await stack.processor.metrics();
    expect(metrics.get('coalesce_bypass_total{reason="overload"}')).toBeGreaterThan(0);
    await expectQuiet(stack);
  }, 90_000);
});
