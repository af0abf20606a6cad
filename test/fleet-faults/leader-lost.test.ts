/** The instance that leads is killed, stopped, told to stop, or has no callers left: what becomes of those that follow it elsewhere. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sent } from '../../harness/http-client.ts';
import type { ProcessorProcess } from '../../harness/stack.ts';
import { ends, expectCut, expectWhole } from '../fault/callers.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { withRedis } from '../support/fleet.ts';
import { fleetKinds, startFleet, type ProcessorFleet } from '../support/processor-fleet.ts';

const followed = 'coalesce_redis_claims_total{answer="followed"}';
const leaseMs = 2_000;
/** Beyond the lease, on a busy machine. */
const slackMs = 2_500;

withRedis.each(fleetKinds)('$leg, on $on', ({ leg, start }) => {
  let upstream: Conductor;
  let redis: Awaited<ReturnType<typeof start>>;
  let fleet: ProcessorFleet;

  // Each has a fleet to itself: what was killed counts anew.
  beforeEach(async () => {
    upstream = new Conductor();
    redis = await start();
    const config = (): Record<string, unknown> => ({ orphan_grace: '100ms' });
    fleet = await startFleet({ leg, redisUrl: redis.url, upstream, config, redis: { lease: `${leaseMs}ms` } });
  }, 120_000);
  afterEach(async () => {
    await fleet?.close();
    await redis?.end();
  });

  function leader(): ProcessorProcess {
    const processor = fleet.stacks[0]?.processor;
    if (processor === undefined) throw new Error('the fleet has no instances');
    return processor;
  }

  /** One caller at the instance that leads, then some at each of the others. */
  async function fly(prompt: string, perInstance = 2): Promise<{ first: Sent; others: Sent[] }> {
    const first = fleet.call(0, prompt);
    await until('the call', () => upstream.calls(prompt).length === 1);
    const others = [1, 2].flatMap((instance) =>
      Array.from({ length: perInstance }, () => fleet.call(instance, prompt)),
    );
    await fleet.waitForSum('coalesce_hits_total', 2 * (perInstance - 1));
    await fleet.waitForSum(followed, 2);
    return { first, others };
  }

  test('killed before the first byte: exactly one instance takes over, with one call for all', async () => {
    const prompt = 'killed before';
    const gate = gateAt('head');
    const second = gateAt('head');
    upstream.play(prompt, gate.script, second.script);
    const { first, others } = await fly(prompt);
    const { exit } = leader();
    leader().kill('SIGKILL');
    await exit;
    // Detached, the dead instance's caller goes upstream by itself; attached, its own call goes on.
    const alone = leg === 'detached' ? 1 : 0;
    await until('the call of the one that takes over', () => upstream.calls(prompt).length === 2 + alone);
    await fleet.waitForSum(followed, 3);
    second.open();
    gate.open();
    for (const { status, ending } of await ends([first, ...others]))
      expect({ status, ending }).toEqual({ status: 200, ending: 'complete' });
    const bodies = new Set((await ends(others)).map(({ body }) => body.toString()));
    expect(bodies.size).toBe(1);
    expect(upstream.calls(prompt)).toHaveLength(2 + alone);
  });

  test('killed in mid-stream: who has bytes elsewhere is cut within the lease, and the next request works', async () => {
    const prompt = 'killed amid';
    const gate = gateAt(5);
    upstream.play(prompt, gate.script, {});
    const { first, others } = await fly(prompt);
    await Promise.all([first, ...others].map((each) => each.waitForBytes(100)));
    const { exit } = leader();
    const killedAt = performance.now();
    leader().kill('SIGKILL');
    await exit;
    const cut = await ends(others);
    expectCut(cut);
    for (const { endedAtMs } of cut) expect((endedAtMs ?? Infinity) - killedAt).toBeLessThan(leaseMs + slackMs);
    const lost = 'coalesce_flight_endings_total{ending="lease_lost"}';
    const endings = await Promise.all(fleet.stacks.slice(1).map(({ processor }) => processor.metrics()));
    expect(endings.map((samples) => samples.get(lost))).toEqual([1, 1]);
    gate.open();
    if (leg === 'attached') expectWhole(await ends([first]), upstream.calls(prompt)[0]);
    else expectCut(await ends([first]));
    const next = await ends([fleet.call(1, prompt), fleet.call(2, prompt)]);
    for (const { ending } of next) expect(ending).toBe('complete');
  });

  test('stopped beyond its lease, then going on: its writes are refused, and its own callers get their answer', async () => {
    const prompt = 'stopped';
    const gate = gateAt(5);
    upstream.play(prompt, gate.script, {});
    const { first, others } = await fly(prompt);
    await Promise.all([first, ...others].map((each) => each.waitForBytes(100)));
    leader().kill('SIGSTOP');
    expectCut(await ends(others));
    const next = await ends([fleet.call(1, prompt), fleet.call(2, prompt)]);
    for (const { ending } of next) expect(ending).toBe('complete');
    leader().kill('SIGCONT');
    gate.open();
    expectWhole(await ends([first]), upstream.calls(prompt)[0]);
    await until(
      'refused writes',
      async () => ((await leader().metrics()).get('coalesce_fenced_writes_total') ?? 0) > 0,
    );
  });

  test('told to stop: it finishes for those that follow it elsewhere', async () => {
    const prompt = 'told to stop';
    const gate = gateAt(5);
    upstream.play(prompt, gate.script);
    const { first, others } = await fly(prompt);
    await Promise.all(others.map((each) => each.waitForBytes(100)));
    const { exit } = leader();
    leader().kill('SIGTERM');
    gate.open();
    expectWhole(await ends([first, ...others]), upstream.calls(prompt)[0]);
    expect(await exit).toMatchObject({ code: 0 });
    expect(upstream.calls(prompt)).toHaveLength(1);
  });

  if (leg === 'detached')
    test('its last caller leaves: it goes on for those that follow it elsewhere', async () => {
      const prompt = 'left';
      const gate = gateAt(5);
      upstream.play(prompt, gate.script);
      const { first, others } = await fly(prompt);
      await Promise.all(others.map((each) => each.waitForBytes(100)));
      const [before] = await fleet.flights(0);
      first.leave();
      await until('a second without callers', async () => {
        const [flight] = await fleet.flights(0);
        return (flight?.age_ms ?? Infinity) > (before?.age_ms ?? 0) + 1_500;
      });
      gate.open();
      expectWhole(await ends(others), upstream.calls(prompt)[0]);
      expect(upstream.calls(prompt)).toHaveLength(1);
    });

  if (leg === 'attached')
    test('attached: its client hangs up before the first byte: another one leads, with one call', async () => {
      const prompt = 'hung up';
      upstream.play(prompt, gateAt('head').script, {});
      const { first, others } = await fly(prompt);
      first.leave();
      expectWhole(await ends(others), upstream.calls(prompt)[1]);
      expect(upstream.calls(prompt)).toHaveLength(2);
    });
});
