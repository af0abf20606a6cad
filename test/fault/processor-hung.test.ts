/**
 * The processor hangs (SIGSTOP): nobody waits longer than decide's timeout or the keepalive, and once it goes on it works as
 * before and holds nothing of the time in between.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Exchange, Sent } from '../../harness/http-client.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import {
  call,
  callInOrder,
  decideTimeoutMs,
  ends,
  expectCut,
  expectWhole,
  keepaliveMs,
  legs,
  noticeSoon,
  waitForWaiters,
} from './callers.ts';

/** What the machine may add while it is busy. */
const slackMs = 2_000;

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({ leg, mock: upstream.options, mutateEnvoy: noticeSoon });
  });
  afterEach(async () => {
    stack.processor.kill('SIGCONT');
    await expectSharing();
    await expectQuiet(stack);
  });
  afterAll(() => stack?.close());

  /** It takes part again: two callers at once make one call. Envoy may still have to find the broken connection. */
  async function expectSharing(): Promise<void> {
    await until('sharing after SIGCONT', async () => {
      const before = upstream.calls('again').length;
      await ends([call(stack, 'again'), call(stack, 'again')]);
      return upstream.calls('again').length === before + 1;
    });
  }

  function stop(): number {
    stack.processor.kill('SIGSTOP');
    return performance.now();
  }

  /** Callers that the processor serves; the attached leader is not among them. */
  function served(all: readonly Sent[]): readonly Sent[] {
    return leg === 'attached' ? all.slice(1) : all;
  }

  test('before the decision: 200 after decide’s timeout, an own call each', async () => {
    const prompt = 'before the decision';
    stop();
    const exchanges = await ends([call(stack, prompt), call(stack, prompt), call(stack, prompt)]);
    expect(exchanges.map(({ status, ending }) => `${status} ${ending}`)).toEqual(Array(3).fill('200 complete'));
    expect(upstream.calls(prompt)).toHaveLength(3);
    for (const { startedAtMs, endedAtMs } of exchanges)
      expect((endedAtMs ?? Infinity) - startedAtMs).toBeLessThan(decideTimeoutMs + slackMs);
  });

  test('after the ticket, while callers wait: they go upstream by themselves within the keepalive', async () => {
    const prompt = 'after the ticket';
    const gate = gateAt('head');
    upstream.play(prompt, gate.script, {});
    const all = await callInOrder(stack, prompt, 4);
    await waitForWaiters(stack, 3);
    await until('the call', () => upstream.calls(prompt).length === 1);
    const stoppedAt = stop();
    const exchanges = await ends(served(all));
    expect(exchanges.map(({ status, ending }) => `${status} ${ending}`)).toEqual(exchanges.map(() => '200 complete'));
    expectWithin(exchanges, stoppedAt + keepaliveMs + slackMs);
    expect(upstream.calls(prompt)).toHaveLength(1 + exchanges.length);
    gate.open();
    if (leg === 'attached') {
      // Its answer's head waits for the processor's reply, for decide's timeout at most.
      const [leader] = await ends(all.slice(0, 1));
      expectWhole(leader === undefined ? [] : [leader], upstream.calls(prompt)[0]);
    }
  });

  test('in mid-stream: followers are cut within the keepalive, never ended as if whole; an attached leader finishes', async () => {
    const prompt = 'mid-stream';
    const gate = gateAt(5);
    upstream.play(prompt, gate.script);
    const all = await callInOrder(stack, prompt, 4);
    await Promise.all(all.map((each) => each.waitForBytes(100)));
    const stoppedAt = stop();
    gate.open();
    const cut = await ends(served(all));
    expectCut(cut);
    expectWithin(cut, stoppedAt + keepaliveMs + slackMs);
    if (leg === 'attached') {
      const leader = await ends(all.slice(0, 1));
      expectWhole(leader, upstream.calls(prompt)[0]);
      expectWithin(leader, stoppedAt + keepaliveMs + slackMs);
    }
    expect(upstream.calls(prompt)).toHaveLength(1);
  });
});

function expectWithin(exchanges: readonly Exchange[], atMs: number): void {
  for (const { endedAtMs } of exchanges) expect(endedAtMs ?? Infinity).toBeLessThan(atMs);
}
