/** Detached leg: the flight belongs to nobody, so whoever leaves takes nothing from the others. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { call, callInOrder, ends, expectWhole, metric, waitForWaiters } from './callers.ts';

const graceMs = 400;
const upstream = new Conductor();
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({
    leg: 'detached',
    config: { orphan_grace: `${graceMs}ms` },
    mock: upstream.options,
  });
});
afterEach(() => expectQuiet(stack));
afterAll(() => stack?.close());

test('the first caller leaves before the first byte: the others get everything, of the same call', async () => {
  const prompt = 'leaves before';
  const gate = gateAt('head');
  upstream.play(prompt, gate.script);
  const [first, ...others] = await callInOrder(stack, prompt, 4);
  await waitForWaiters(stack, 3);
  await until('the call', () => upstream.calls(prompt).length === 1);
  first?.leave();
  await waitForWaiters(stack, 2);
  gate.open();
  expectWhole(await ends(others), upstream.calls(prompt)[0]);
  expect(upstream.calls(prompt)).toHaveLength(1);
});

test('the first caller leaves in mid-stream: the others get everything, of the same call', async () => {
  const prompt = 'leaves amid';
  const gate = gateAt(5);
  upstream.play(prompt, gate.script);
  const all = await callInOrder(stack, prompt, 4);
  await Promise.all(all.map((each) => each.waitForBytes(100)));
  const [first, ...others] = all;
  first?.leave();
  await waitForWaiters(stack, 2);
  gate.open();
  expectWhole(await ends(others), upstream.calls(prompt)[0]);
  expect(upstream.calls(prompt)).toHaveLength(1);
});

test.for([['before the first byte', 'head'] as const, ['in mid-stream', 5] as const])(
  'all leave %s and one retries within the grace: it gets everything of the one call',
  async ([when, place]) => {
    const prompt = `retry ${when}`;
    const gate = gateAt(place);
    upstream.play(prompt, gate.script);
    const all = await callInOrder(stack, prompt, 3);
    await until('the call', () => upstream.calls(prompt).length === 1);
    if (place !== 'head') await Promise.all(all.map((each) => each.waitForBytes(100)));
    const left = await metric(stack, 'coalesce_cancellations_total{role="follower"}');
    for (const each of all) each.leave();
    await until(
      'all gone',
      async () =>
        (await metric(stack, 'coalesce_cancellations_total{role="follower"}')) === left + 2 &&
        (await metric(stack, 'coalesce_streams')) === 0,
    );
    const retry = call(stack, prompt);
    await until('the retry aboard', async () => (await metric(stack, 'coalesce_streams')) === 1);
    gate.open();
    expectWhole([await retry.done], upstream.calls(prompt)[0]);
    expect(upstream.calls(prompt)).toHaveLength(1);
    expect(upstream.calls(prompt)[0]?.aborted).toBe(false);
  },
);

test.for([['before the first byte', 'head'] as const, ['in mid-stream', 5] as const])(
  'all leave %s: the call is cancelled after the grace, and not before',
  async ([when, place]) => {
    const prompt = `abandoned ${when}`;
    upstream.play(prompt, { hang: place });
    const all = await callInOrder(stack, prompt, 3);
    await until('the call', () => upstream.calls(prompt).length === 1);
    if (place !== 'head') await Promise.all(all.map((each) => each.waitForBytes(100)));
    const abandoned = await metric(stack, 'coalesce_flight_endings_total{ending="abandoned"}');
    const leftAt = performance.now();
    for (const each of all) each.leave();
    const upstreamCall = upstream.calls(prompt)[0];
    await until('the abort', () => upstreamCall?.aborted === true);
    expect((upstreamCall?.endedAtMs ?? 0) - leftAt).toBeGreaterThanOrEqual(graceMs - 1);
    expect((upstreamCall?.endedAtMs ?? 0) - leftAt).toBeLessThan(graceMs + 2_000);
    expect(await metric(stack, 'coalesce_flight_endings_total{ending="abandoned"}')).toBe(abandoned + 1);
    expect(upstream.calls(prompt)).toHaveLength(1);
  },
);
