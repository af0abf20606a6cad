/** Envoy's circuit breaker on the processor's cluster, raised in the shipped files: its default of 1,024 is a stampede. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { begin, chat, openSession, type Sent } from '../../harness/http-client.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { waitLong } from '../support/patient-envoy.ts';
import { ends, expectWhole, legs, waitForWaiters } from './callers.ts';

const followers = 1_500;
/** HTTP/2, shared by the callers: a socket each would only measure the machine. */
const connections = 20;

describe.each(legs)('%s', (leg) => {
  const upstream = new Conductor();
  let stack: Stack;

  beforeAll(async () => {
    const limits = { max_waiters: 2_000, max_loop_delay: '60s' };
    stack = await startStack({ leg, config: { limits }, mutateEnvoy: waitLong, mock: upstream.options });
  });
  afterAll(() => stack?.close());

  test('1,500 followers wait in deliver at once: one call, none overflows, everybody whole', async () => {
    const prompt = 'crowd';
    const gate = gateAt('head');
    upstream.play(prompt, gate.script);
    const sessions = await Promise.all(Array.from({ length: connections }, () => openSession(stack.ingress.url)));
    try {
      const callers: Sent[] = Array.from({ length: followers + 1 }, (_, index) => {
        const session = sessions[index % connections];
        return begin({ url: stack.ingress.url, version: 2, ...(session && { session }), ...chat(prompt) });
      });
      await waitForWaiters(stack, followers, 20_000);
      gate.open();
      expectWhole(await ends(callers), upstream.calls(prompt)[0]);
      expect(upstream.calls(prompt)).toHaveLength(1);
      const stats = await stack.envoy.stats('^cluster.coalescer.upstream_rq_(active|pending)_overflow$');
      expect([...stats.values()].every((count) => count === 0)).toBe(true);
      expect(stats.size).toBeGreaterThan(0);
      await expectQuiet(stack);
    } finally {
      for (const session of sessions) session.destroy();
    }
  });
});
