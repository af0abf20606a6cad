/** A leader whose call has to wait for admission: its followers elsewhere wait with it, on real processors, Envoys and Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis } from '../../harness/redis.ts';
import { ends, expectWhole } from '../fault/callers.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { withRedis } from '../support/fleet.ts';
import { startFleet, type ProcessorFleet } from '../support/processor-fleet.ts';

const firstByteMs = 2_000;

withRedis.each(['attached', 'detached'] as const)('%s', (leg) => {
  const upstream = new Conductor();
  let redis: Awaited<ReturnType<typeof startRedis>> | undefined;
  let fleet: ProcessorFleet;

  beforeAll(async () => {
    redis = await startRedis();
    const config = () => ({
      admission: { max_upstream: 1, max_wait: '60s' },
      deadlines: { first_byte: `${firstByteMs}ms` },
    });
    fleet = await startFleet({ leg, redisUrl: redis.url, upstream, size: 2, config });
  }, 120_000);
  afterAll(async () => {
    await fleet?.close();
    await redis?.end();
  });

  test('who follows a flight that queues for longer than first_byte gets its answer, from one call', async () => {
    const gate = gateAt(5);
    upstream.play('in the way', gate.script);
    const other = fleet.call(0, 'in the way');
    await other.waitForBytes(1);
    const leader = fleet.call(0, 'wanted');
    await until('it queues', async () => (await fleet.flights(0)).some(({ phase }) => phase === 'queued'));
    const follower = fleet.call(1, 'wanted');
    await until('it has followed for longer than that', async () => {
      return (await fleet.flights(1)).some(({ phase, age_ms }) => phase === 'following' && age_ms > 1.5 * firstByteMs);
    });
    gate.open();
    const [, ...wanted] = await ends([other, leader, follower]);
    expectWhole(wanted, upstream.calls('wanted')[0]);
    expect(upstream.calls('wanted')).toHaveLength(1);
    await fleet.expectQuiet();
  }, 60_000);
});
