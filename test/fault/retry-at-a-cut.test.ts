/** A retry sent at the very moment of a cut: the broken flight takes nobody any more, the retry begins a new one. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Exchange } from '../../harness/http-client.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { call, callInOrder, ends, expectCut, expectWhole, legs } from './callers.ts';

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({ leg, mock: upstream.options });
  });
  afterEach(() => expectQuiet(stack));
  afterAll(() => stack?.close());

  test('the upstream resets in mid-stream: all see a cut, and their retries share one new call', async () => {
    const prompt = 'cut';
    const gate = gateAt(5, { reset: 5 });
    const second = gateAt(5);
    upstream.play(prompt, gate.script, second.script);
    const cut = await callInOrder(stack, prompt, 4);
    await Promise.all(cut.map((each) => each.waitForBytes(100)));
    gate.open();
    const retries = cut.map((each) => each.done.then(() => call(stack, prompt)));
    expectCut(await ends(cut));
    const begun = await Promise.all(retries);
    await Promise.all(begun.map((each) => each.waitForBytes(100)));
    second.open();
    expectWhole(await ends(begun), upstream.calls(prompt)[1]);
    expect(upstream.calls(prompt)).toHaveLength(2);
  });

  test('ten cuts in a row, each followed at once by a retry: never a clean end of half an answer, a call per flight', async () => {
    const prompt = 'cut again';
    upstream.play(prompt, ...Array.from({ length: 10 }, () => ({ reset: 5, gapMs: 2 })), {});
    const seen: Exchange[] = [];
    for (let round = 0; round < 10; round += 1) seen.push(await call(stack, prompt).done);
    expectCut(seen);
    expectWhole([await call(stack, prompt).done], upstream.calls(prompt)[10]);
    expect(upstream.calls(prompt)).toHaveLength(11);
  });

  test('one log line per exchange, a cut one too', async () => {
    const lines = (await stack.processor.log()).filter((line) => line['event'] === 'exchange_ended');
    const ids = lines.map((line) => line['id']);
    expect(lines.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(lines.length);
  });

  test('a cut is no matter for a person: nothing is logged as an error', async () => {
    const lines = await stack.processor.log();
    expect(lines.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  });
});
