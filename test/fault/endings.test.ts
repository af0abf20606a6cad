/**
 * Every way in which a flight can end, in each leg, on a real Envoy: what the first caller sees, what the others see, and
 * that the flight ends by that word and no other. A pair that cannot be has its reason here. Each fault in depth has a file of
 * its own.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Sent } from '../../harness/http-client.ts';
import { expectQuiet, type Leg, type Stack, startStack } from '../../harness/stack.ts';
import { freePort } from '../../harness/stack/processor-process.ts';
import { type FlightEnding, flightEndings } from '../../src/coalesce/flight/endings.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { callInOrder, legs, waitForWaiters } from './callers.ts';

/** Three callers of one prompt: the first leads. Resolves with what each of them saw, as `status ending`. */
type Scenario = (prompt: string) => Promise<readonly string[]>;

type Pair =
  | { readonly scenario: Scenario; readonly seen: readonly [first: string, ...others: string[]] }
  | { readonly impossible: string };

const whole = '200 complete';
const reset = '200 reset';
const left = '200 left';

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({
      leg,
      mock: upstream.options,
      config: { orphan_grace: '200ms' },
      nodeOptions: ['--import', new URL('../support/broken-deadline.mjs', import.meta.url).href],
    });
  });
  afterEach(() => expectQuiet(stack));
  afterAll(() => stack?.close());

  const pairs: Readonly<Record<FlightEnding, Readonly<Record<Leg, Pair>>>> = {
    landed: same({ scenario: landed, seen: [whole, whole, whole] }),
    failed_status: same({ scenario: failedStatus, seen: ['429 complete', '429 complete', '429 complete'] }),
    failed_connect: {
      attached: { impossible: 'Envoy makes the leader’s call and answers for it where it fails: failed_status' },
      detached: { scenario: failedConnect, seen: [whole, whole, whole] },
    },
    cut: {
      // Where the upstream breaks, Envoy resets the leader: leader_lost. What is left is a drain that ends first.
      attached: { scenario: drainedInMidstream, seen: [whole, reset, reset] },
      detached: { scenario: brokenInMidstream, seen: [reset, reset, reset] },
    },
    leader_lost: {
      attached: { scenario: leaderLeavesInMidstream, seen: [left, reset, reset] },
      detached: { impossible: 'no caller carries the call' },
    },
    abandoned: same({ scenario: allLeave, seen: ['0 left', '0 left', '0 left'] }),
    first_byte_timeout: {
      attached: { scenario: noHead, seen: [whole, whole, whole] },
      detached: { scenario: noHead, seen: ['504 complete', '504 complete', '504 complete'] },
    },
    idle_timeout: midstream({ idle: '500ms' }),
    total_timeout: midstream({ total: '3s' }),
    // Shown in both legs by test/fleet-faults/leader-lost.test.ts.
    lease_lost: same({ impossible: 'it takes a second processor, whose lease is lost' }),
    invariant: midstream({ idle: '777ms' }),
  };

  test('each ending has its row', () => {
    expect(Object.keys(pairs)).toEqual([...flightEndings]);
  });

  for (const ending of flightEndings) {
    const pair = pairs[ending][leg];
    if ('impossible' in pair) continue;
    test(`${ending}: the first caller sees ${pair.seen[0]}, the others ${pair.seen[1]}`, async () => {
      const earlier = (await endingsLogged()).length;
      expect(await pair.scenario(`${leg} ${ending}`)).toEqual(pair.seen);
      await until('an ending', async () => (await endingsLogged()).length > earlier);
      // Calls that fail at once are a flight each.
      expect([...new Set((await endingsLogged()).slice(earlier))]).toEqual([ending]);
    });
  }

  async function endingsLogged(): Promise<string[]> {
    const lines = await stack.processor.log();
    return lines.filter(({ event }) => event === 'flight_ended').map((line) => String(line['ending']));
  }

  function same(pair: Pair): Record<Leg, Pair> {
    return { attached: pair, detached: pair };
  }

  /** A deadline passes in mid-stream. The attached leader's exchange is Envoy's: it goes on. */
  function midstream(deadlines: Record<string, string>): Record<Leg, Pair> {
    const scenario: Scenario = (prompt) => under({ deadlines }, () => silentInMidstream(prompt));
    return {
      attached: { scenario, seen: [whole, reset, reset] },
      detached: { scenario, seen: [reset, reset, reset] },
    };
  }

  async function landed(prompt: string): Promise<string[]> {
    const gate = gateAt(5);
    const all = await threeWithBytes(prompt, gate.script);
    gate.open();
    return seen(all);
  }

  async function failedStatus(prompt: string): Promise<string[]> {
    const gate = gateAt('head', { status: 429 });
    upstream.play(prompt, gate.script);
    const all = await callInOrder(stack, prompt, 3);
    await waitForWaiters(stack, 2);
    gate.open();
    return seen(all);
  }

  async function failedConnect(prompt: string): Promise<string[]> {
    const { config } = stack.processor;
    // The egress is fixed at the start.
    await stack.processor.reload({ ...config, egress: `http://127.0.0.1:${await freePort()}` });
    await stack.processor.restart();
    const exchanges = await seen(await callInOrder(stack, prompt, 3));
    await expectQuiet(stack);
    await stack.processor.reload(config);
    await stack.processor.restart();
    return exchanges;
  }

  async function brokenInMidstream(prompt: string): Promise<string[]> {
    const gate = gateAt(5, { reset: 5 });
    const all = await threeWithBytes(prompt, gate.script);
    gate.open();
    return seen(all);
  }

  async function drainedInMidstream(prompt: string): Promise<string[]> {
    const gate = gateAt(5);
    const all = await threeWithBytes(prompt, gate.script);
    await stack.processor.reload({ ...stack.processor.config, drain: '300ms' });
    const { exit } = stack.processor;
    stack.processor.kill('SIGTERM');
    await exit;
    gate.open();
    const exchanges = await seen(all);
    await stack.processor.restart();
    await stack.processor.reload(stack.processor.config);
    return exchanges;
  }

  async function leaderLeavesInMidstream(prompt: string): Promise<string[]> {
    const all = await threeWithBytes(prompt, gateAt(5).script);
    all[0]?.leave();
    return seen(all);
  }

  async function allLeave(prompt: string): Promise<string[]> {
    upstream.play(prompt, { hang: 'head' });
    const all = await callInOrder(stack, prompt, 3);
    await waitForWaiters(stack, 2);
    // The last one first: none is promoted.
    for (const [index, caller] of [...all.entries()].toReversed()) {
      caller.leave();
      if (index > 0) await waitForWaiters(stack, index - 1);
    }
    return seen(all);
  }

  async function noHead(prompt: string): Promise<string[]> {
    return under({ deadlines: { first_byte: '2s' } }, async () => {
      const gate = gateAt('head');
      upstream.play(prompt, gate.script, {});
      const all = await callInOrder(stack, prompt, 3);
      const others = await seen(all.slice(1));
      gate.open();
      return [...(await seen(all.slice(0, 1))), ...others];
    });
  }

  async function silentInMidstream(prompt: string): Promise<string[]> {
    const gate = gateAt(5);
    const all = await threeWithBytes(prompt, gate.script);
    const others = await seen(all.slice(1));
    gate.open();
    return [...(await seen(all.slice(0, 1))), ...others];
  }

  async function threeWithBytes(prompt: string, script: Parameters<Conductor['play']>[1]): Promise<Sent[]> {
    const start = gateAt('head', script);
    upstream.play(prompt, start.script);
    const all = await callInOrder(stack, prompt, 3);
    await waitForWaiters(stack, 2);
    start.open();
    await Promise.all(all.map((each) => each.waitForBytes(100)));
    return all;
  }

  async function under<T>(changes: Record<string, unknown>, run: () => Promise<T>): Promise<T> {
    const { config } = stack.processor;
    await stack.processor.reload({ ...config, ...changes });
    try {
      return await run();
    } finally {
      await stack.processor.reload(config);
    }
  }
});

async function seen(sent: readonly Sent[]): Promise<string[]> {
  const exchanges = await Promise.all(sent.map(({ done }) => done));
  return exchanges.map(({ status, ending }) => `${status} ${ending}`);
}
