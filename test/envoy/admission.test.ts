/** Limits: how many calls at once, how long the queue, how many callers and generations a key may have. */
import { describe, expect, test, vi } from 'vitest';
import { begin, type Sent } from '../../harness/http-client.ts';
import type { Pacer } from '../support/pacer.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const legs = ['attached', 'detached'] as const;

describe.each(legs)('%s, two upstream calls at once', (leg) => {
  const shared = new SharedStack({ leg, config: { admission: { max_upstream: 2 } } });

  test('six prompts are called two at a time, in order of arrival, and all are answered', async () => {
    const pacers: Pacer[] = [];
    shared.answerWith(() => {
      const pacer = shared.newPacer();
      pacers.push(pacer);
      return { pace: pacer.pace };
    });
    const prompts = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'];
    const sent: Sent[] = [];
    for (const [index, prompt] of prompts.entries()) {
      sent.push(begin(shared.chat(prompt)));
      if (index < 2) await shared.waitForCalls(index + 1);
      else await shared.waitForGauge('coalesce_queue', index - 1);
    }
    for (let answered = 0; answered < prompts.length; answered += 1) {
      await shared.waitForCalls(Math.min(answered + 2, prompts.length));
      expect(shared.stack.mock.active()).toBeLessThanOrEqual(2);
      await pacers[answered]?.reached('head');
      pacers[answered]?.openAll();
      await sent[answered]?.done;
    }
    expect(shared.stack.mock.peakActive()).toBe(2);
    expect(shared.calls.map(({ body }) => promptIn(body))).toEqual(prompts);
    for (const exchange of await allDone(sent)) expectWhole([exchange], shared.callOf(exchange));
  });

  test('those who wait for a queued flight share it', async () => {
    const pacer = shared.pacedAnswer();
    const sent = ['busy 1', 'busy 2'].map((prompt) => begin(shared.chat(prompt)));
    await shared.waitForCalls(2);
    const waiting = [1, 2, 3].map(() => begin(shared.chat('queued and shared')));
    await shared.waitForJoins(2);
    pacer.openAll();
    await allDone(sent);
    expectWhole(await allDone(waiting), shared.calls[2]);
    expect(shared.calls).toHaveLength(3);
  });

  test('a large body waits in the queue and goes upstream whole', async () => {
    const pacer = shared.pacedAnswer();
    const sent = ['busy 5', 'busy 6'].map((prompt) => begin(shared.chat(prompt)));
    await shared.waitForCalls(2);
    const large = shared.chat('x'.repeat(900_000));
    const waiting = [begin(large), begin(large)];
    await shared.waitForJoins(1);
    pacer.openAll();
    await allDone(sent);
    expectWhole(await allDone(waiting), shared.calls[2]);
    expect(shared.calls[2]?.body.toString()).toBe(large.body);
    expect(shared.calls[2]?.headers['content-length']).toBe(String(large.body.length));
  });

  test('a caller that leaves the queue takes its place along', async () => {
    const pacer = shared.pacedAnswer();
    const sent = ['busy 3', 'busy 4'].map((prompt) => begin(shared.chat(prompt)));
    await shared.waitForCalls(2);
    const impatient = begin(shared.chat('impatient'));
    await shared.waitForGauge('coalesce_queue', 1);
    impatient.leave();
    await shared.waitForGauge('coalesce_queue', 0);
    expect(await shared.counted('coalesce_cancellations_total{role="queued"}')).toBe(1);
    pacer.openAll();
    await allDone(sent);
    expect(shared.calls).toHaveLength(2);
  });
});

const shapes = [
  ['openai', { error: { message: expect.any(String), type: 'rate_limit_exceeded', param: null, code: 'REASON' } }],
  ['anthropic', { type: 'error', error: { type: 'rate_limit_error', message: expect.any(String) } }],
] as const;

describe.each(legs)('%s, a queue with a wait of 200 ms', (leg) => {
  const shared = new SharedStack({ leg, config: { admission: { max_upstream: 1, max_wait: '200ms' } } });

  test.each(shapes)('whoever waits longer gets 429 as %s writes it', async (api, shape) => {
    const pacer = shared.pacedAnswer();
    const busy = begin(shared.chat('busy'));
    await shared.waitForCalls(1);
    const refused = await allDone([1, 2].map(() => begin(shared.chat('patient', { api }))));
    for (const { status, headers, body } of refused) {
      expect([status, headers['retry-after'], headers['content-type']]).toEqual([429, '1', 'application/json']);
      expect(JSON.parse(body.toString())).toEqual(withReason(shape, 'max_wait'));
    }
    expect(await shared.counted('coalesce_shed_total{reason="max_wait"}')).toBe(2);
    pacer.openAll();
    expectWhole([await busy.done], shared.calls[0]);
    expect(shared.calls).toHaveLength(1);
  });
});

describe.each(legs)('%s, a queue for one', (leg) => {
  const shared = new SharedStack({ leg, config: { admission: { max_upstream: 1, max_queue: 1 } } });

  test.each(shapes)('the second in the queue gets 429 as %s writes it', async (api, shape) => {
    const pacer = shared.pacedAnswer();
    const busy = begin(shared.chat('busy'));
    await shared.waitForCalls(1);
    const queued = begin(shared.chat('queued'));
    await shared.waitForGauge('coalesce_queue', 1);
    const id = `shed-${api}`;
    const refused = await begin(shared.chat('refused', { api, headers: { 'x-request-id': id } })).done;
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    expect(JSON.parse(refused.body.toString())).toEqual(withReason(shape, 'queue_full'));
    expect(await shared.logLine(id)).toMatchObject({ status: 429, outcome: 'shed', reason: 'queue_full' });
    pacer.openAll();
    expectWhole([await busy.done], shared.calls[0]);
    expectWhole([await queued.done], shared.calls[1]);
  });
});

describe.each(legs)('%s, no queue', (leg) => {
  const shared = new SharedStack({ leg, config: { admission: { max_upstream: 1, max_queue: 0 } } });

  test('the second prompt gets 429 at once, and a follower of the first does not', async () => {
    const pacer = shared.pacedAnswer();
    const sent = [begin(shared.chat('first'))];
    await shared.waitForCalls(1);
    expect((await begin(shared.chat('second')).done).status).toBe(429);
    sent.push(begin(shared.chat('first')));
    await shared.waitForJoins(1);
    pacer.openAll();
    expectWhole(await allDone(sent), shared.calls[0]);
  });
});

describe.each(legs)('%s, two followers for a flight and two generations', (leg) => {
  const shared = new SharedStack({ leg, config: { limits: { max_waiters: 2, max_generations: 2 } } });

  test('later joiners lead a new generation, and beyond the last one a caller goes alone', async () => {
    const pacer = shared.pacedAnswer();
    const sent: Sent[] = [];
    for (const [index, calls] of [1, 1, 1, 2, 2, 2, 3].entries()) {
      const headers = { 'x-request-id': `generation-${index}` };
      sent.push(begin(shared.chat('crowded', { headers })));
      await shared.waitForCalls(calls);
      await shared.waitForCount('coalesce_hits_total', [0, 1, 2, 2, 3, 4, 4][index] ?? 0);
    }
    pacer.openAll();
    const exchanges = await allDone(sent);
    const [byFirst, bySecond, alone] = [exchanges.slice(0, 3), exchanges.slice(3, 6), exchanges.slice(6)];
    expectWhole(byFirst, shared.calls[0]);
    expectWhole(bySecond, shared.calls[1]);
    expectWhole(alone, shared.calls[2]);
    expect(await shared.counted('coalesce_late_join_rejected_total{reason="waiters"}')).toBeGreaterThanOrEqual(2);
    expect(await shared.logLine('generation-6')).toMatchObject({ outcome: 'bypass', reason: 'limit' });
    expect((await shared.logLine('generation-5'))['outcome']).toBe('follower');
  });
});

const lateJoins = [
  ['events', { max_events: 3 }],
  ['bytes', { max_bytes: 600 }],
  ['age', { max_age: '50ms' }],
] as const;

describe.each(lateJoins)('late joins limited by %s', (reason, lateJoin) => {
  describe.each(legs)('%s', (leg) => {
    const shared = new SharedStack({ leg, config: { late_join: lateJoin } });

    test('a caller that comes too late leads a new generation', async () => {
      const pacer = shared.pacedAnswer({ tokens: 8 });
      const sent = [begin(shared.chat('late'))];
      pacer.open('head', 0);
      await sent[0]?.waitForBytes(1);
      const firstByteAt = performance.now();
      if (reason !== 'age') {
        sent.push(begin(shared.chat('late')));
        await shared.waitForJoins(1);
      }
      pacer.open(1, 2, 3, 4, 5);
      await pacer.reached(6);
      await sent[0]?.waitForBytes(Buffer.concat(shared.calls[0]?.sent ?? []).length);
      await vi.waitFor(() => expect(performance.now() - firstByteAt).toBeGreaterThan(100));
      const late = begin(shared.chat('late'));
      await shared.waitForCalls(2);
      pacer.openAll();
      expectWhole([await late.done], shared.calls[1]);
      expectWhole(await allDone(sent), shared.calls[0]);
      expect(await shared.counted(`coalesce_late_join_rejected_total{reason="${reason}"}`)).toBe(1);
    });
  });
});

function promptIn(body: Buffer): string {
  return (JSON.parse(body.toString()) as { messages: [{ content: string }] }).messages[0].content;
}

/** The shape with the reason where it has a place for one. */
function withReason(shape: object, reason: string): unknown {
  return 'error' in shape && 'code' in (shape.error as object)
    ? { error: { ...(shape.error as object), code: reason } }
    : shape;
}
