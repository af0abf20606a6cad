/** Three processors behind three Envoys and one Redis: identical requests anywhere share one upstream call, live and whole. */
import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { ProcessorProcess } from '../../harness/stack/processor-process.ts';
import { expectWhole, ends } from '../fault/callers.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { documents, fencedCommands } from '../support/documents.ts';
import { withRedis } from '../support/fleet.ts';
import { fleetKinds, startFleet, type ProcessorFleet } from '../support/processor-fleet.ts';

type Line = Readonly<Record<string, unknown>>;

const execute = promisify(execFile);
const [runbookCommand = ''] = documents()
  .flatMap(fencedCommands)
  .flatMap(({ text, comment }) => (comment === 'run by test/fleet/sharing.test.ts' ? [text] : []));

const followed = 'coalesce_redis_claims_total{answer="followed"}';

/** What a command of the runbook prints on the log of a processor, as its operator has kept it. */
async function linesOf(command: string, { configPath }: ProcessorProcess): Promise<Line[]> {
  const folder = dirname(configPath);
  await copyFile(join(folder, 'processor.out'), join(folder, 'coalescer.log'));
  const { stdout } = await execute('bash', ['-c', command], { cwd: folder });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

function isEndOf(line: Line, flight: string | undefined): boolean {
  return line['event'] === 'flight_ended' && line['flight'] === flight;
}

withRedis.each(fleetKinds)('$leg, on $on', ({ leg, start }) => {
  const upstream = new Conductor();
  let redis: Awaited<ReturnType<typeof start>> | undefined;
  let fleet: ProcessorFleet;

  beforeAll(async () => {
    redis = await start();
    fleet = await startFleet({ leg, redisUrl: redis.url, upstream });
  }, 120_000);
  afterEach(() => fleet.expectQuiet());
  afterAll(async () => {
    await fleet?.close();
    await redis?.end();
  });

  test('300 identical requests over three instances make one upstream call, and all get the same bytes', async () => {
    const gate = gateAt('head');
    upstream.play('crowd', gate.script);
    const sent = Array.from({ length: 300 }, (_, index) => fleet.call(index % 3, 'crowd'));
    await fleet.waitForSum('coalesce_hits_total', 297);
    await fleet.waitForSum(followed, 2);
    gate.open();
    expectWhole(await ends(sent), upstream.calls('crowd')[0]);
    expect(upstream.calls('crowd')).toHaveLength(1);
    expect(await fleet.sum('coalesce_upstream_calls_total')).toBe(1);
  }, 90_000);

  test('what has come reaches callers of every instance before the next comes', async () => {
    const inner = gateAt(8);
    const outer = gateAt(5, inner.script);
    upstream.play('live', outer.script);
    const sent = [0, 1, 2].map((instance) => fleet.call(instance, 'live'));
    await Promise.all(sent.map((each) => each.waitForBytes(1)));
    const [upstreamCall] = upstream.calls('live');
    const past = Buffer.concat(upstreamCall?.sent ?? []).length;
    await Promise.all(sent.map((each) => each.waitForBytes(past)));
    outer.open();
    await Promise.all(sent.map((each) => each.waitForBytes(past + 1)));
    const late = fleet.call(1, 'live');
    await late.waitForBytes(past + 1);
    inner.open();
    expectWhole(await ends([...sent, late]), upstream.calls('live')[0]);
    expect(upstream.calls('live')).toHaveLength(1);
  });

  test('who follows another instance is told so: cache-status, /flights and the log', async () => {
    const gate = gateAt('head');
    upstream.play('told', gate.script);
    const followedBefore = await fleet.sum(followed);
    const first = fleet.call(0, 'told');
    await until('the call', () => upstream.calls('told').length === 1);
    const second = fleet.call(1, 'told');
    await fleet.waitForSum(followed, followedBefore + 1);
    expect(await fleet.flights(0)).toMatchObject([{ phase: 'calling', fleet: 'leads' }]);
    const [flight] = await fleet.flights(1);
    expect(flight).toMatchObject({ phase: 'following', fleet: 'follows' });
    gate.open();
    const [leader, follower] = await ends([first, second]);
    expect(leader?.headers['cache-status']).toBe('coalescer; fwd=miss');
    expect(follower?.headers['cache-status']).toBe('coalescer; fwd=miss; collapsed');
    await until('the log', async () => {
      const lines = (await fleet.stacks[1]?.processor.log()) ?? [];
      return lines.some((line) => line['event'] === 'flight_ended' && line['flight'] === flight?.id);
    });
    const lines = await fleet.stacks[1]?.processor.log();
    expect(lines?.find((line) => line['flight'] === flight?.id && line['event'] === 'flight_ended')).toMatchObject({
      ...{ fleet: 'follows', attempts: 0, ending: 'landed', fleetFlight: expect.stringMatching(/^[0-9a-f]{16}$/) },
    });
  });

  test('the runbook’s command finds every instance that shared a flight, by what the fleet calls it', async () => {
    const gate = gateAt('head');
    upstream.play('named', gate.script);
    const before = await fleet.sum(followed);
    const sent = [0, 1, 2].map((instance) => fleet.call(instance, 'named'));
    await fleet.waitForSum(followed, before + 2);
    const [following] = (await Promise.all([0, 1, 2].map((instance) => fleet.flights(instance))))
      .flat()
      .filter((row) => row.fleet === 'follows');
    gate.open();
    await ends(sent);
    const found = await vi.waitFor(async () => {
      const lines = await Promise.all(fleet.stacks.map(({ processor }) => processor.log()));
      const fleetFlight = lines.flat().find((line) => isEndOf(line, following?.id))?.['fleetFlight'];
      const command = runbookCommand.replace('FLEET-FLIGHT', String(fleetFlight));
      const all = await Promise.all(fleet.stacks.map(({ processor }) => linesOf(command, processor)));
      expect(all.map((each) => each.length)).toEqual([1, 1, 1]);
      return all.flat();
    });
    expect(found.map((line) => String(line['fleet'])).toSorted()).toEqual(['follows', 'follows', 'leads']);
  });

  test('nothing is kept: the same request after the end makes a call of its own, at every instance', async () => {
    for (const instance of [0, 1, 2, 0]) {
      const before = upstream.calls('again').length;
      const [exchange] = await ends([fleet.call(instance, 'again')]);
      expect(exchange?.ending).toBe('complete');
      expect(upstream.calls('again')).toHaveLength(before + 1);
    }
  });

  test('tenants never share, whichever instance they come to', async () => {
    const credentials = ['one', 'two', 'three'];
    const sent = credentials.map((credential, instance) => fleet.call(instance, 'tenants', { credential }));
    for (const { ending } of await ends(sent)) expect(ending).toBe('complete');
    expect(upstream.calls('tenants')).toHaveLength(3);
  });
});
