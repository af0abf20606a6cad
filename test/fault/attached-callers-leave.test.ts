/** Attached leg: the flight hangs on its leader. Who follows it goes on without it where that can be done, else is cut. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Sent } from '../../harness/http-client.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import {
  call,
  callInOrder,
  ends,
  expectCut,
  expectOneAfterTheOther,
  expectWhole,
  metric,
  waitForBypasses,
  waitForWaiters,
} from './callers.ts';

const releaseRate = 10;
const maxPromotions = 2;
const upstream = new Conductor();
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({
    leg: 'attached',
    config: { max_promotions: maxPromotions, limits: { release_rate: releaseRate } },
    mock: upstream.options,
  });
});
afterEach(() => expectQuiet(stack));
afterAll(() => stack?.close());

/** Hangs up and waits until the next call of this prompt is upstream. */
async function leaveAndAwaitCall(leaver: Sent | undefined, prompt: string, count: number): Promise<void> {
  leaver?.leave();
  await until(`call ${count}`, () => upstream.calls(prompt).length === count);
}

test('the leader leaves before the first byte: one of five followers is promoted, a sixth caller joins, two calls in all', async () => {
  const prompt = 'promotion';
  const gate = gateAt('head');
  upstream.play(prompt, { hang: 'head' }, gate.script);
  const [leader, ...followers] = await callInOrder(stack, prompt, 6);
  await waitForWaiters(stack, 5);
  await leaveAndAwaitCall(leader, prompt, 2);
  const sixth = call(stack, prompt);
  await waitForWaiters(stack, 5);
  gate.open();
  expectWhole(await ends([...followers, sixth]), upstream.calls(prompt)[1]);
  expect(upstream.calls(prompt)).toHaveLength(2);
  expect(await metric(stack, 'coalesce_promotions_total')).toBe(1);
  expect(upstream.calls(prompt)[0]?.aborted).toBe(true);
});

test('a caller that joins a promoted leader in mid-stream gets the whole answer', async () => {
  const prompt = 'promotion, late joiner';
  const gate = gateAt(5);
  upstream.play(prompt, { hang: 'head' }, gate.script);
  const [leader, ...followers] = await callInOrder(stack, prompt, 3);
  await waitForWaiters(stack, 2);
  await leaveAndAwaitCall(leader, prompt, 2);
  await Promise.all(followers.map((each) => each.waitForBytes(100)));
  const joiner = call(stack, prompt);
  await joiner.waitForBytes(100);
  gate.open();
  expectWhole(await ends([...followers, joiner]), upstream.calls(prompt)[1]);
  expect(upstream.calls(prompt)).toHaveLength(2);
});

test('leader after leader leaves: after the last promotion the rest go upstream by themselves, one after the other', async () => {
  const prompt = 'chain';
  const hung = { hang: 'head' } as const;
  upstream.play(prompt, hung, hung, hung, {});
  const sent = await callInOrder(stack, prompt, 7);
  await waitForWaiters(stack, 6);
  for (let lost = 0; lost < maxPromotions; lost += 1) await leaveAndAwaitCall(sent[lost], prompt, lost + 2);
  sent[maxPromotions]?.leave();
  const released = await ends(sent.slice(maxPromotions + 1));
  const calls = upstream.calls(prompt).slice(maxPromotions + 1);
  expect(released.map(({ status, ending }) => `${status} ${ending}`)).toEqual(Array(4).fill('200 complete'));
  expect(calls).toHaveLength(4);
  expectOneAfterTheOther(calls, { perSecond: releaseRate });
  await waitForBypasses(stack, 'limit', 4);
});

test('the leader leaves in mid-stream: followers that have bytes are cut, and the key is free at once', async () => {
  const prompt = 'mid-stream';
  upstream.play(prompt, { hang: 5 }, {});
  const [leader, ...followers] = await callInOrder(stack, prompt, 4);
  await Promise.all(followers.map((each) => each.waitForBytes(100)));
  leader?.leave();
  expectCut(await ends(followers));
  const next = call(stack, prompt);
  expectWhole([await next.done], upstream.calls(prompt)[1]);
  expect(upstream.calls(prompt)).toHaveLength(2);
  expect(upstream.calls(prompt)[0]?.aborted).toBe(true);
});

test.for([['before the first byte', 'head'] as const, ['in mid-stream', 5] as const])(
  'a follower leaves %s: the leader and the others get everything',
  async ([when, place]) => {
    const prompt = `follower leaves ${when}`;
    const gate = gateAt(place);
    upstream.play(prompt, gate.script);
    const all = await callInOrder(stack, prompt, 4);
    await waitForWaiters(stack, 3);
    if (place !== 'head') await Promise.all(all.map((each) => each.waitForBytes(100)));
    all[2]?.leave();
    await waitForWaiters(stack, 2);
    gate.open();
    expectWhole(await ends(all.filter((_, index) => index !== 2)), upstream.calls(prompt)[0]);
    expect(upstream.calls(prompt)).toHaveLength(1);
  },
);

test('everybody leaves: the call is cancelled, and the next caller begins a new flight', async () => {
  const prompt = 'everybody';
  upstream.play(prompt, { hang: 'head' }, {});
  const all = await callInOrder(stack, prompt, 3);
  await waitForWaiters(stack, 2);
  for (const each of all.toReversed()) each.leave();
  await until('the abort', () => upstream.calls(prompt)[0]?.aborted === true);
  await expectQuiet(stack);
  expectWhole([await call(stack, prompt).done], upstream.calls(prompt).at(-1));
});
