/** What must not be shared between instances, and limits that hold over all of them. */
import { afterEach, expect, test } from 'vitest';
import { startRedis, startRedisCluster } from '../../harness/redis.ts';
import { ends, legs } from '../fault/callers.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { withRedis } from '../support/fleet.ts';
import { startFleet, type FleetOptions, type ProcessorFleet } from '../support/processor-fleet.ts';

const sites = [
  { on: 'one Redis', start: () => startRedis() },
  { on: 'a Cluster', start: () => startRedisCluster() },
];

withRedis.each(legs.flatMap((leg) => sites.map((site) => ({ leg, ...site }))))('$leg, on $on', ({ leg, start }) => {
  let redis: Awaited<ReturnType<typeof start>> | undefined;
  let fleet: ProcessorFleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    await redis?.end();
  });

  async function begin(upstream: Conductor, options: Partial<FleetOptions>): Promise<ProcessorFleet> {
    redis = await start();
    fleet = await startFleet({ leg, redisUrl: redis.url, upstream, ...options });
    return fleet;
  }

  test('two policies in one fleet never share, and each shares with its own', async () => {
    const upstream = new Conductor();
    // As in the middle of a rollout: the last instance has another policy's content already.
    const config = (instance: number): Record<string, unknown> => (instance === 2 ? { identity: 'ignore' } : {});
    const { call, waitForSum } = await begin(upstream, { config });
    const gate = gateAt('head');
    upstream.play('two policies', gate.script);
    const sent = [0, 1, 2, 0, 1, 2].map((instance) => call(instance, 'two policies'));
    await waitForSum('coalesce_hits_total', 3);
    await waitForSum('coalesce_redis_claims_total{answer="led"}', 2);
    await waitForSum('coalesce_redis_claims_total{answer="followed"}', 1);
    gate.open();
    for (const { status, ending } of await ends(sent))
      expect({ status, ending }).toEqual({ status: 200, ending: 'complete' });
    expect(upstream.calls('two policies')).toHaveLength(2);
  }, 120_000);

  test('two secrets in one fleet never share, and lose nothing', async () => {
    const upstream = new Conductor();
    const config = (instance: number): Record<string, unknown> =>
      instance === 2 ? { key: { secret: 'another-secret-in-the-midst-of-a-rotation' } } : {};
    const { call, waitForSum } = await begin(upstream, { config });
    const gate = gateAt('head');
    upstream.play('two secrets', gate.script);
    const sent = [0, 1, 2].map((instance) => call(instance, 'two secrets'));
    await waitForSum('coalesce_redis_claims_total{answer="led"}', 2);
    await waitForSum('coalesce_redis_claims_total{answer="followed"}', 1);
    gate.open();
    for (const { status, ending } of await ends(sent))
      expect({ status, ending }).toEqual({ status: 200, ending: 'complete' });
    expect(upstream.calls('two secrets')).toHaveLength(2);
  }, 120_000);

  test('admission.scope fleet: calls of all instances together never pass max_upstream', async () => {
    const upstream = new Conductor();
    const config = (): Record<string, unknown> => ({
      admission: { max_upstream: 3, max_queue: 1_000, max_wait: '60s', scope: 'fleet' },
    });
    const { call, mock, expectQuiet } = await begin(upstream, { config });
    const prompts = Array.from({ length: 30 }, (_, index) => `slot ${index}`);
    for (const prompt of prompts) upstream.play(prompt, { delayMs: 20 });
    // Each prompt at two instances: who follows needs no slot.
    const sent = prompts.flatMap((prompt, index) => [call(index % 3, prompt), call((index + 1) % 3, prompt)]);
    for (const { status, ending } of await ends(sent))
      expect({ status, ending }).toEqual({ status: 200, ending: 'complete' });
    expect(mock.peakActive()).toBeGreaterThan(1);
    expect(mock.peakActive()).toBeLessThanOrEqual(3);
    await expectQuiet();
  }, 120_000);

  test('admission.scope fleet: who waits for max_wait is turned away with 429', async () => {
    const upstream = new Conductor();
    const config = (): Record<string, unknown> => ({
      admission: { max_upstream: 1, max_queue: 10, max_wait: '500ms', scope: 'fleet' },
    });
    const { call, expectQuiet } = await begin(upstream, { config });
    const gate = gateAt('head');
    upstream.play('holds the slot', gate.script);
    const first = call(0, 'holds the slot');
    await until('the call', () => upstream.calls('holds the slot').length === 1);
    const [turnedAway] = await ends([call(1, 'waits in vain')]);
    expect(turnedAway?.status).toBe(429);
    expect(Number(turnedAway?.headers['retry-after'])).toBeGreaterThan(0);
    expect(upstream.calls('waits in vain')).toHaveLength(0);
    gate.open();
    expect((await ends([first]))[0]?.ending).toBe('complete');
    await expectQuiet();
  }, 120_000);
});
