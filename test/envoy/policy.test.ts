/** Policies that Envoy's configuration alone decides: inline, per route, off, shadow, and what a mistake in one does. */
import { describe, expect, test, vi } from 'vitest';
import { begin, burst, send, type Exchange } from '../../harness/http-client.ts';
import { withInlinePolicy, withRoute } from '../support/envoy-policy.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const legs = ['attached', 'detached'] as const;
const warm = { body: { temperature: 1 } };

/** As many identical requests are upstream at once as were sent, and each gets the answer of its own. */
async function expectNothingShared(shared: SharedStack, prompt: string, count = 3): Promise<Exchange[]> {
  const pacer = shared.pacedAnswer();
  const sent = burst(count, (index) => shared.chat(prompt, { headers: { 'x-request-id': `${prompt}-${index}` } }));
  await shared.waitForCalls(count);
  pacer.openAll();
  const exchanges = await allDone(sent);
  for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
  expect(new Set(exchanges.map(({ body }) => body.toString())).size).toBe(count);
  expect(shared.calls).toHaveLength(count);
  for (const { headers } of exchanges) expect(headers).not.toHaveProperty('cache-status');
  return exchanges;
}

describe.each(legs)('%s, an inline policy of mode shadow', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: withInlinePolicy('{"mode":"shadow"}') });

  test('nothing is shared, and what would have been is counted and logged', async () => {
    await expectNothingShared(shared, 'shadowed', 4);
    expect(await shared.counted('coalesce_shadow_total{verdict="would_hit"}')).toBe(3);
    const lines = await Promise.all([0, 1, 2, 3].map((index) => shared.logLine(`shadowed-${index}`)));
    expect(lines.map(({ outcome, reason }) => [outcome, reason])).toEqual(Array(4).fill(['bypass', 'shadow']));
    expect(lines.filter(({ would }) => would === 'leader')).toHaveLength(1);
    expect(lines.filter(({ would }) => would === 'follower')).toHaveLength(3);
  });

  test('a flight that would have been ends with the exchange that would have led it', async () => {
    const first = await send(shared.chat('one after the other'));
    await shared.waitForGauge('coalesce_streams', 0);
    const second = await send(shared.chat('one after the other'));
    expect([first.ending, second.ending]).toEqual(['complete', 'complete']);
    expect(await shared.counted('coalesce_shadow_total{verdict="would_hit"}')).toBe(0);
  });

  test('a flight that would have been ends when its leader hangs up', async () => {
    const pacer = shared.pacedAnswer();
    const leaver = begin(shared.chat('leaver'));
    await shared.waitForCalls(1);
    leaver.leave();
    await shared.waitForGauge('coalesce_streams', 0);
    const next = begin(shared.chat('leaver', { headers: { 'x-request-id': 'after-leaver' } }));
    pacer.openAll();
    await next.done;
    expect((await shared.logLine('after-leaver'))['would']).toBe('leader');
  });
});

describe.each(legs)('%s, an inline policy of sampling any', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: withInlinePolicy('{"sampling":"any"}') });

  test('requests without temperature and with a high one share', async () => {
    for (const body of [{ temperature: undefined }, { temperature: 1 }]) {
      const request = shared.chat('any', { body });
      const sent = await shared.fly([request, request], {});
      expectWhole(await allDone(sent), shared.calls.at(-1));
    }
    expect(shared.calls).toHaveLength(2);
  });
});

describe.each(legs)('%s, an inline policy of mode off', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: withInlinePolicy('{"mode":"off"}') });

  test('nothing is shared', async () => {
    await expectNothingShared(shared, 'off');
    expect(await shared.logLine('off-0')).toMatchObject({ outcome: 'bypass', reason: 'mode_off' });
  });
});

describe.each(legs)('%s, an inline policy that is wrong', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: withInlinePolicy('{"sampling":"sometimes","limmits":{}}') });

  test('nothing is shared, and one warning names the mistakes', async () => {
    await expectNothingShared(shared, 'wrong');
    expect(await shared.logLine('wrong-0')).toMatchObject({ outcome: 'bypass', reason: 'mode_off' });
    const warnings = await vi.waitFor(async () => {
      const lines = (await shared.stack.processor.log()).filter(({ event }) => event === 'policy_refused');
      expect(lines.length).toBeGreaterThan(0);
      return lines;
    });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({
      level: 'warn',
      mistake: expect.stringMatching(/sampling.*limmits|limmits.*sampling/s),
    });
  });
});

describe.each(legs)('%s, routes of their own', (leg) => {
  const overrides = { grpc_initial_metadata: [{ key: 'x-coalesce-policy', value: '{"sampling":"any"}' }] };
  const shared = new SharedStack({
    leg,
    mutateEnvoy: (config) => {
      withRoute('/apart/', { disabled: true })(config);
      withRoute('/any/', { overrides })(config);
    },
  });

  async function expectCalls(count: 1 | 3, prefix: string, options: object = {}): Promise<void> {
    const request = shared.chat(`route ${prefix}`, options);
    const pacer = shared.pacedAnswer();
    const sent = burst(3, { ...request, path: `${prefix}${request.path}` });
    await shared.waitForCalls(count);
    await shared.waitForJoins(3 - count);
    pacer.openAll();
    for (const exchange of await allDone(sent)) expectWhole([exchange], shared.callOf(exchange));
    expect(shared.calls).toHaveLength(count);
  }

  test('a route that disables both filters passes everything', async () => {
    await expectCalls(3, '/apart');
    expect(await shared.counted('coalesce_requests_total{outcome="bypass"}')).toBe(0);
  });

  test('a route may have an inline policy of its own', () => expectCalls(1, '/any', warm));

  test('the other routes keep theirs', () => expectCalls(3, '', warm));

  test('a policy that a client names does nothing', () =>
    expectCalls(3, '', { ...warm, headers: { 'x-coalesce-policy': '{"sampling":"any"}' } }));
});
