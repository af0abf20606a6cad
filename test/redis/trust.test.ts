/** Streams that are not what their leader wrote: whoever reads them gets no byte that was not proven, and no clean end. */
import { expect, test } from 'vitest';
import { namesIn, onEachRedis, type Fleet } from '../support/fleet-servers.ts';
import { aFlight, aKey, closesLate, head, type Instance, type InstanceOptions } from '../support/fleet.ts';
import { until } from '../support/condition.ts';

type Scene = {
  readonly leader: Instance;
  readonly follower: Instance;
  readonly led: ReturnType<typeof aFlight>;
  readonly flight: ReturnType<typeof aFlight>;
  readonly key: ReturnType<typeof aKey>;
  readonly stream: string;
};

const leaseMs = 30_000;

/** A follower that has the first piece and does not look, while the test does what it does. */
async function begun(fleet: Fleet, options: InstanceOptions = {}): Promise<Scene> {
  const [leader, follower] = await fleet.pair({ leaseMs, ...options });
  const [led, flight, key] = [aFlight(), aFlight(), aKey()];
  const before = new Set(await namesIn(fleet.site, ':s:'));
  expect(await leader.claims(led, key)).toBe('led');
  expect(await follower.claims(flight, key)).toBe('followed');
  leader.publishHead(led, head, closesLate);
  leader.publishBytes(led, Buffer.from('first.'));
  await until('the first piece', () => follower.text(flight) === 'first.');
  follower.hold(flight);
  const stream = (await namesIn(fleet.site, ':s:')).find((name) => !before.has(name)) ?? '';
  return { leader, follower, led, flight, key, stream };
}

async function write(fleet: Fleet, { leader, led, stream }: Scene, text: string): Promise<void> {
  const before = await lastId(fleet, stream);
  leader.publishBytes(led, Buffer.from(text));
  await until('it is written', async () => (await lastId(fleet, stream)) > before);
}

async function lastId(fleet: Fleet, stream: string): Promise<number> {
  const [newest] = (await fleet.site.command('XREVRANGE', stream, '+', '-', 'COUNT', '1')) as [[Buffer, unknown]?];
  return newest === undefined ? 0 : Number.parseInt(String(newest[0]), 10);
}

async function isUnreadable({ follower, flight }: Scene): Promise<void> {
  follower.resume(flight);
  expect((await follower.hears(flight, 'lost')).loss).toEqual({ answered: true, why: 'unreadable' });
  expect(follower.text(flight)).toBe('first.');
  expect(follower.told(flight).words).toEqual(['followed', 'began', 'lost']);
}

onEachRedis('a follower', (fleet) => {
  test.each([{ encrypt: true }, { encrypt: false }])('takes no forged entry ($encrypt)', async (options) => {
    const scene = await begun(fleet, options);
    const id = await lastId(fleet, scene.stream);
    await fleet.site.command(
      'XADD',
      scene.stream,
      `${id + 1}-0`,
      'e',
      '\u0001forged, and long enough to have a proof behind it',
    );
    await isUnreadable(scene);
  });

  test('takes no end that its leader did not write', async () => {
    const scene = await begun(fleet);
    const id = await lastId(fleet, scene.stream);
    await fleet.site.command('XADD', scene.stream, `${id + 1}-0`, 'e', `\u0003${'x'.repeat(40)}`);
    await isUnreadable(scene);
  });

  test('takes no entry that was written before, at another place', async () => {
    const scene = await begun(fleet);
    const id = await lastId(fleet, scene.stream);
    await copyEntry(scene.stream, id, scene.stream, id + 1);
    await isUnreadable(scene);
  });

  test('takes no entry of another flight at the same place', async () => {
    const [scene, other] = [await begun(fleet), await begun(fleet)];
    await write(fleet, other, 'of another tenant');
    const id = await lastId(fleet, scene.stream);
    await copyEntry(other.stream, await lastId(fleet, other.stream), scene.stream, id + 1);
    await isUnreadable(scene);
  });

  test('does not read on over an entry that is gone', async () => {
    const scene = await begun(fleet);
    await write(fleet, scene, 'second.');
    await fleet.site.command('XDEL', scene.stream, `${await lastId(fleet, scene.stream)}-0`);
    await write(fleet, scene, 'third.');
    await isUnreadable(scene);
  });

  test('does not read on in a stream that began anew', async () => {
    const scene = await begun(fleet);
    await fleet.site.command('DEL', scene.stream);
    await write(fleet, scene, 'second.');
    await write(fleet, scene, 'third.');
    scene.follower.leave(scene.flight);
    const late = aFlight();
    expect(await scene.follower.claims(late, scene.key)).toBe('followed');
    expect((await scene.follower.hears(late, 'lost')).loss).toEqual({ answered: false, why: 'unreadable' });
    // What cannot be read is not followed again: that would go on for ever.
    expect(await scene.follower.claims(late, scene.key)).toBe('alone');
  });

  test('that reads too slowly for the stream is cut, and a late joiner leads anew', async () => {
    const scene = await begun(fleet, { maxReplayBytes: 100_000 });
    for (let index = 0; index < 5; index += 1) await write(fleet, scene, 'x'.repeat(60_000));
    expect(await fleet.site.command('XLEN', scene.stream)).toBe(1);
    await isUnreadable(scene);
    expect(await scene.follower.claims(aFlight(), scene.key)).toBe('led');
  });

  test('with the wrong kind of encryption gets nothing, and stands alone', async () => {
    const leader = await fleet.add({ encrypt: true });
    const follower = await fleet.add({ encrypt: false });
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    expect((await follower.hears(flight, 'lost')).loss).toEqual({ answered: false, why: 'unreadable' });
    expect(await follower.claims(flight, key)).toBe('alone');
  });

  test.each([
    { joins: 'a minute after nobody could join', aheadMs: 60_000 + leaseMs + 60_000 + 1_000, told: 'lost' },
    { joins: 'while it might still have joined it', aheadMs: 60_000, told: 'ended' },
  ])('that claims $joins gets of a whole answer, written to Redis again: $told', async ({ aheadMs, told }) => {
    const leader = await fleet.add({ leaseMs });
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    const before = new Set(await namesIn(fleet.site, ''));
    expect(await leader.claims(led, key)).toBe('led');
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('answer of the past'));
    leader.publishEnd(led, null);
    await until('it is over', async () => (await namesOf(before)).every((name) => name.includes(':s:')));
    const [stream = ''] = await namesOf(before);
    const [base = '', token = ''] = stream.split(':s:');
    const entries = (await fleet.site.command('XRANGE', stream, '-', '+')) as [[Buffer, [Buffer, Buffer]]];
    await fleet.site.command('DEL', stream);
    for (const [id, [field, payload]] of entries) await fleet.site.command('XADD', stream, id, field, payload);
    await fleet.site.command('SET', `${base}:lease`, token);
    const follower = await fleet.add({ leaseMs, clockAheadMs: aheadMs });
    expect(await follower.claims(flight, key)).toBe('followed');
    const { loss } = await follower.hears(flight, told);
    expect(follower.text(flight)).toBe(told === 'ended' ? 'answer of the past' : '');
    if (told === 'lost') expect(loss).toEqual({ answered: false, why: 'unreadable' });
    // What is not trusted is not followed again.
    if (told === 'lost') expect(await follower.claims(flight, key)).toBe('alone');
  });

  test.each([-50_000, 50_000])(
    'whose clock is %i ms ahead joins an answer as late as any other',
    async (clockAheadMs) => {
      const [leader, follower] = [await fleet.add(), await fleet.add({ clockAheadMs })];
      const [led, flight, key] = [aFlight(), aFlight(), aKey()];
      expect(await leader.claims(led, key)).toBe('led');
      leader.publishHead(led, head, { closesAfterMs: 5_000 });
      leader.publishBytes(led, Buffer.from('whole'));
      expect(await follower.claims(flight, key)).toBe('followed');
      leader.publishEnd(led, null);
      await follower.hears(flight, 'ended');
      expect(follower.text(flight)).toBe('whole');
    },
  );

  test('leaves nothing readable in Redis: no key, no text, no header', async () => {
    const scene = await begun(fleet);
    await write(fleet, scene, 'a text that nobody may read');
    const names = await namesIn(fleet.site, '');
    expect(names.filter((name) => name.includes(scene.key))).toEqual([]);
    const content = String(await fleet.site.command('XRANGE', scene.stream, '-', '+'));
    expect(content).not.toContain('nobody may read');
    expect(content).not.toContain('event-stream');
    expect(content).not.toContain('first.');
  });

  async function namesOf(before: ReadonlySet<string>): Promise<string[]> {
    return (await namesIn(fleet.site, '')).filter((name) => !before.has(name) && !name.includes('trial'));
  }

  /** From one stream to another, byte for byte. */
  async function copyEntry(from: string, id: number, to: string, as: number): Promise<void> {
    const entries = (await fleet.site.command('XRANGE', from, `${id}-0`, `${id}-0`)) as [[string, [string, Buffer]]];
    await fleet.site.command('XADD', to, `${as}-0`, 'e', entries[0][1][1]);
  }
});
