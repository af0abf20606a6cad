/** An answer larger than the replay buffer may be: it reaches those on board whole, and the memory stays bounded. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { call, callInOrder, ends, expectWhole, legs, metric, waitForWaiters } from './callers.ts';

const capBytes = 256 * 1024;
const tokenBytes = 32 * 1024;
/** A chunk more than the cap may come before it is noticed, and one may be on its way to each reader. */
const slackBytes = 4 * tokenBytes;

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({ leg, config: { limits: { max_replay_bytes: capBytes } }, mock: upstream.options });
  });
  afterEach(() => expectQuiet(stack));
  afterAll(() => stack?.close());

  /** Watches how much the processor holds for replay until `over`; the most that it saw. */
  async function peakReplayBytes(over: Promise<unknown>): Promise<number> {
    let isOver = false;
    void over.finally(() => (isOver = true));
    let peak = 0;
    await until(
      'the end of the stream',
      async () => {
        peak = Math.max(peak, await metric(stack, 'coalesce_replay_bytes'));
        return isOver;
      },
      20_000,
    );
    return peak;
  }

  test('over the cap those on board stream on, later callers share a new generation, and the memory stays near the cap', async () => {
    const prompt = 'large';
    const large = { tokens: 100, tokenBytes, gapMs: 5 };
    const [first, second] = [gateAt(60, large), gateAt('head', large)];
    const boarding = gateAt('head', first.script);
    upstream.play(prompt, boarding.script, second.script);
    const aboard = await callInOrder(stack, prompt, 4);
    await waitForWaiters(stack, 3);
    boarding.open();
    const peak = peakReplayBytes(ends(aboard));
    await Promise.all(aboard.map((each) => each.waitForBytes(4 * capBytes)));
    const later = [call(stack, prompt)];
    await until('a second generation', () => upstream.calls(prompt).length === 2);
    later.push(call(stack, prompt));
    await waitForWaiters(stack, 4);
    first.open();
    second.open();
    expectWhole(await ends(aboard), upstream.calls(prompt)[0]);
    expectWhole(await ends(later), upstream.calls(prompt)[1]);
    expect(upstream.calls(prompt)).toHaveLength(2);
    expect(await peak).toBeLessThan(2 * (capBytes + slackBytes));
  });

  test('an answer many times the cap, as fast as it can come, reaches an only caller whole', async () => {
    const prompt = 'fast';
    upstream.play(prompt, { tokens: 500, tokenBytes });
    const caller = call(stack, prompt);
    const peak = peakReplayBytes(caller.done);
    expectWhole([await caller.done], upstream.calls(prompt)[0]);
    expect(upstream.calls(prompt)).toHaveLength(1);
    expect(await peak).toBeLessThan(2 * (capBytes + slackBytes));
  });
});
