/**
 * The upstream says nothing, before its head or in mid-stream, and a deadline passes. Detached: the flight ends and so do its
 * callers. Attached: the leader's own exchange is never ended by us; those that follow it are let go or cut.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { begin, chat, type Sent } from '../../harness/http-client.ts';
import { expectQuiet, type Leg, type Stack, startStack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { callInOrder, ends, expectCut, expectWhole, legs, metric, waitForBypasses, waitForWaiters } from './callers.ts';

const upstream = new Conductor();
let stack: Stack;

function withDeadlines(leg: Leg, deadlines: Record<string, string>): void {
  beforeAll(async () => {
    stack = await startStack({ leg, config: { deadlines }, mock: upstream.options });
  });
  afterEach(() => expectQuiet(stack));
  afterAll(() => stack?.close());
}

/** How often a flight has ended so. */
function endings(ending: string): Promise<number> {
  return metric(stack, `coalesce_flight_endings_total{ending="${ending}"}`);
}

/** The followers got an answer of their own each, by the ingress route. */
async function expectOwnAnswers(followers: readonly Sent[], prompt: string): Promise<void> {
  const exchanges = await ends(followers);
  const calls = upstream.calls(prompt).slice(1);
  expect(calls).toHaveLength(followers.length);
  for (const exchange of exchanges) {
    expectWhole(
      [exchange],
      calls.find(({ id }) => String(id) === exchange.headers['x-mock-call']),
    );
  }
}

describe('no head within first_byte, detached', () => {
  withDeadlines('detached', { first_byte: '300ms' });

  test('all get 504 in the shape of OpenAI’s errors, the call is cancelled, and the next caller begins a new flight', async () => {
    const prompt = 'hung';
    upstream.play(prompt, { hang: 'head' }, {});
    const all = await callInOrder(stack, prompt, 3);
    for (const { status, ending, headers, body } of await ends(all)) {
      expect({ status, ending, type: headers['content-type'] }).toEqual({
        status: 504,
        ending: 'complete',
        type: 'application/json',
      });
      expect(JSON.parse(body.toString())).toEqual({
        error: { message: expect.any(String), type: 'server_error', param: null, code: 'first_byte_timeout' },
      });
    }
    await until('the abort', () => upstream.calls(prompt)[0]?.aborted === true);
    expect(await endings('first_byte_timeout')).toBe(1);
    expectWhole(await ends(await callInOrder(stack, prompt, 1)), upstream.calls(prompt)[1]);
    expect(upstream.calls(prompt)).toHaveLength(2);
  });

  test('an Anthropic caller gets the 504 in the shape of Anthropic’s errors', async () => {
    upstream.play('hung, Anthropic', { hang: 'head' });
    const { status, body } = await begin({ url: stack.ingress.url, ...chat('hung, Anthropic', { api: 'anthropic' }) })
      .done;
    expect(status).toBe(504);
    expect(JSON.parse(body.toString())).toEqual({
      type: 'error',
      error: { type: 'timeout_error', message: expect.any(String) },
    });
  });
});

describe('no head within first_byte, attached', () => {
  withDeadlines('attached', { first_byte: '300ms' });

  test('the followers are released; the leader waits on and gets its answer when it comes', async () => {
    const prompt = 'hung, attached';
    const gate = gateAt('head');
    upstream.play(prompt, gate.script, {});
    const [leader, ...followers] = await callInOrder(stack, prompt, 4);
    await expectOwnAnswers(followers, prompt);
    await waitForBypasses(stack, 'limit', 3);
    expect(await endings('first_byte_timeout')).toBe(1);
    expect(leader?.soFar().endedAtMs).toBeUndefined();
    gate.open();
    expectWhole(leader === undefined ? [] : [await leader.done], upstream.calls(prompt)[0]);
  });
});

describe.each(legs)('silence in mid-stream, %s', (leg) => {
  describe.each([
    ['idle', { idle: '300ms' }, { hang: 5 }],
    ['total', { total: '600ms' }, { gapMs: 50, tokens: 100 }],
  ] as const)('over the deadline %s', (name, deadlines, script) => {
    withDeadlines(leg, deadlines);

    test('callers that the processor serves are cut', async () => {
      const prompt = `${leg} ${name}`;
      const gate = gateAt(100);
      upstream.play(prompt, leg === 'attached' && name === 'idle' ? gateAt(5).script : script, {});
      const all = await callInOrder(stack, prompt, 3);
      await Promise.all(all.map((each) => each.waitForBytes(100)));
      expectCut(await ends(leg === 'attached' ? all.slice(1) : all));
      expect(await endings(`${name}_timeout`)).toBe(1);
      gate.open();
      if (leg === 'detached') await until('the abort', () => upstream.calls(prompt)[0]?.aborted === true);
      else all[0]?.leave();
    });
  });
});

describe('silence in mid-stream, attached', () => {
  withDeadlines('attached', { idle: '300ms' });

  test('the leader goes on when the upstream does, and gets everything', async () => {
    const prompt = 'leader unharmed';
    const gate = gateAt(5);
    upstream.play(prompt, gate.script);
    const [leader, ...followers] = await callInOrder(stack, prompt, 3);
    await Promise.all(followers.map((each) => each.waitForBytes(100)));
    expectCut(await ends(followers));
    expect(leader?.soFar().endedAtMs).toBeUndefined();
    gate.open();
    expectWhole(leader === undefined ? [] : [await leader.done], upstream.calls(prompt)[0]);
    expect(upstream.calls(prompt)).toHaveLength(1);
  });
});

describe.each(legs)('no byte within a caller’s wait, %s', (leg) => {
  withDeadlines(leg, { wait: '400ms' });

  test('it is released to go alone; the call goes on for those that can wait', async () => {
    const prompt = `waits ${leg}`;
    const gate = gateAt('head');
    upstream.play(prompt, gate.script, {});
    const all = await callInOrder(stack, prompt, 3);
    await waitForWaiters(stack, 2);
    const released = leg === 'attached' ? all.slice(1) : all;
    await expectOwnAnswers(released, prompt);
    await waitForBypasses(stack, 'limit', released.length);
    const late = await callInOrder(stack, prompt, 1);
    gate.open();
    if (leg === 'attached') expectWhole(await ends([...all.slice(0, 1), ...late]), upstream.calls(prompt)[0]);
    else expectWhole(await ends(late), upstream.calls(prompt)[0]);
  });
});
