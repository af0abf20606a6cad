/** The processor dies in mid-stream (SIGKILL) and comes back: what was in flight ends at once, what comes after is shared again. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { call, callInOrder, ends, expectCut, expectWhole, legs, waitForWaiters } from './callers.ts';

/** A dead processor is told by the system at once, nothing has to time out; the machine may be busy. */
const atOnceMs = 2_000;

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({ leg, mock: upstream.options });
  });
  beforeEach(() => stack.processor.restart());
  afterEach(() => expectQuiet(stack));
  afterAll(() => stack?.close());

  async function kill(): Promise<number> {
    const killedAt = performance.now();
    const { exit } = stack.processor;
    stack.processor.kill('SIGKILL');
    await exit;
    return killedAt;
  }

  test('killed in mid-stream: callers served by it are cut, an attached leader is not', async () => {
    const prompt = 'mid-stream';
    const gate = gateAt(5);
    upstream.play(prompt, gate.script);
    const all = await callInOrder(stack, prompt, 4);
    await Promise.all(all.map((each) => each.waitForBytes(100)));
    const killedAt = await kill();
    const served = leg === 'attached' ? all.slice(1) : all;
    const cut = await ends(served);
    expectCut(cut);
    for (const { endedAtMs } of cut) expect((endedAtMs ?? Infinity) - killedAt).toBeLessThan(atOnceMs);
    gate.open();
    if (leg === 'attached') expectWhole(await ends(all.slice(0, 1)), upstream.calls(prompt)[0]);
    expect(upstream.calls(prompt)).toHaveLength(1);
    await stack.processor.restart();
  });

  test('killed before the first byte: everybody gets an answer of their own, at once', async () => {
    const prompt = 'waiting';
    const gate = gateAt('head');
    upstream.play(prompt, gate.script, {});
    const all = await callInOrder(stack, prompt, 4);
    await waitForWaiters(stack, 3);
    await until('the call', () => upstream.calls(prompt).length === 1);
    const killedAt = await kill();
    const onTheirOwn = await ends(leg === 'attached' ? all.slice(1) : all);
    gate.open();
    const exchanges = await ends(all);
    expect(exchanges.map(({ status, ending }) => `${status} ${ending}`)).toEqual(Array(4).fill('200 complete'));
    for (const { endedAtMs } of onTheirOwn) expect((endedAtMs ?? Infinity) - killedAt).toBeLessThan(atOnceMs);
    expect(upstream.calls(prompt)).toHaveLength(leg === 'attached' ? 4 : 5);
    await stack.processor.restart();
  });

  test('while it is gone every caller gets its own answer; back again, it shares again', async () => {
    const gone = 'gone';
    await kill();
    const alone = await ends([call(stack, gone), call(stack, gone), call(stack, gone)]);
    expect(alone.map(({ status, ending }) => `${status} ${ending}`)).toEqual(Array(3).fill('200 complete'));
    expect(upstream.calls(gone)).toHaveLength(3);
    await stack.processor.restart();
    const back = 'back';
    const gate = gateAt('head');
    upstream.play(back, gate.script);
    await until('a shared call', sharedOnce);
    const all = await callInOrder(stack, back, 4);
    await waitForWaiters(stack, 3);
    gate.open();
    expectWhole(await ends(all), upstream.calls(back)[0]);
    expect(upstream.calls(back)).toHaveLength(1);
  });

  /** Whether Envoy reaches the processor again: it may have to find its connection broken first. */
  async function sharedOnce(): Promise<boolean> {
    await call(stack, 'again').done;
    const metrics = await stack.processor.metrics();
    return (metrics.get('coalesce_misses_total') ?? 0) > 0;
  }
});
