/** A tenant that fills the queue for the upstream does not keep another one waiting. Counted at the mock. */
import { describe, expect, test } from 'vitest';
import { begin, type Sent } from '../../harness/http-client.ts';
import { until } from '../support/condition.ts';
import type { Pacer } from '../support/pacer.ts';
import { allDone, SharedStack } from '../support/shared-stack.ts';
import { legs } from './callers.ts';

const queued = 40;

/** Answers that wait for the test. What is returned lets the one to a call go, by the call's number. */
function holdAnswers(shared: SharedStack): (number: number) => Promise<void> {
  const pacers: Pacer[] = [];
  shared.answerWith(() => {
    const pacer = shared.newPacer();
    pacers.push(pacer);
    return { pace: pacer.pace };
  });
  return async (number) => {
    await until(`call ${number}`, () => Promise.resolve(pacers.length > number));
    pacers[number]?.openAll();
  };
}

describe.each(legs)('%s, two calls at once', (leg) => {
  const shared = new SharedStack({ leg, config: { admission: { max_upstream: 2, max_queue: queued } } });

  function ask(tenant: string, prompt: string): Sent {
    return begin(shared.chat(prompt, { headers: { authorization: `Bearer ${tenant}` } }));
  }

  async function fillQueue(tenant: string): Promise<Sent[]> {
    const sent = [ask(tenant, 'running 1'), ask(tenant, 'running 2')];
    await shared.waitForCalls(2);
    for (let index = 0; index < queued; index += 1) sent.push(ask(tenant, `queued ${index}`));
    await shared.waitForGauge('coalesce_queue', queued);
    return sent;
  }

  test('with a full queue of one tenant, another one starts within the next two free slots', async () => {
    const answer = holdAnswers(shared);
    const first = await fillQueue('a');
    const second = ask('b', 'one of b');
    // The last of the first tenant makes room.
    await shared.waitForCount('coalesce_shed_total{reason="queue_full"}', 1);
    await answer(0);
    await answer(1);
    await shared.waitForCalls(4);
    const tenants = shared.calls.map(({ headers }) => headers['authorization']);
    expect(tenants.slice(0, 2)).toEqual(['Bearer a', 'Bearer a']);
    expect(tenants.slice(2, 4)).toContain('Bearer b');
    for (let index = 2; index < queued + 2; index += 1) {
      await answer(index);
    }
    const statuses = (await allDone([...first, second])).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    expect(statuses.at(-1)).toBe(200);
    expect(shared.stack.mock.peakActive()).toBe(2);
  });

  test('a long answer that holds one slot leaves the other serving', async () => {
    const answer = holdAnswers(shared);
    const sent = [ask('a', 'long')];
    await shared.waitForCalls(1);
    for (let index = 0; index < 10; index += 1) sent.push(ask('a', `short ${index}`));
    for (let index = 1; index <= 10; index += 1) {
      await answer(index);
    }
    await allDone(sent.slice(1));
    expect(shared.stack.mock.active()).toBe(1);
    await answer(0);
    expect((await allDone(sent)).map(({ status }) => status)).toEqual(Array(11).fill(200));
  });
});

describe.each(legs)('%s, one call per key and two in all', (leg) => {
  const shared = new SharedStack({
    leg,
    config: { admission: { max_upstream: 2 }, limits: { max_waiters: 1, max_generations: 1 } },
  });

  test('later generations of a key wait for the running one, and leave the other slot to another key', async () => {
    const answer = holdAnswers(shared);
    const sent: Sent[] = [];
    for (let index = 0; index < 6; index += 1) {
      sent.push(begin(shared.chat('crowded')));
      await shared.waitForCount('coalesce_hits_total', Math.ceil(index / 2));
      await shared.waitForCount('coalesce_misses_total', Math.floor(index / 2) + 1);
    }
    await shared.waitForGauge('coalesce_queue', 2);
    expect(shared.calls).toHaveLength(1);
    sent.push(begin(shared.chat('another key')));
    await shared.waitForCalls(2);
    for (let index = 0; index < 4; index += 1) {
      await answer(index);
    }
    expect((await allDone(sent)).map(({ status }) => status)).toEqual(Array(7).fill(200));
    expect(shared.calls).toHaveLength(4);
    expect(await shared.counted('coalesce_bypass_total{reason="limit"}')).toBe(0);
  });
});
