/** What happens to those who follow when the leader dies, stops, or is no longer the leader without knowing it. */
import { expect, test } from 'vitest';
import { fleetOn, namesIn, oneRedis, onEachRedis } from '../support/fleet-servers.ts';
import { aFlight, aKey, closesLate, head, withRedis, type Instance } from '../support/fleet.ts';
import { until } from '../support/condition.ts';
import { wireTo, type Wire } from '../support/wire-tap.ts';

/** On a busy machine a first read takes some time: it is no sign of a Redis that is down. */
const lease = { leaseMs: 2_500 };

withRedis('a leader that dies', () => {
  const fleet = fleetOn(() => oneRedis());

  async function dying(): Promise<{
    wire: Wire;
    leader: Instance;
    followers: Instance[];
    key: ReturnType<typeof aKey>;
  }> {
    const wire = await wireTo(fleet.site.nodes[0]?.port ?? 0);
    const leader = await fleet.behind(wire, lease);
    return { wire, leader, followers: [await fleet.add(lease), await fleet.add(lease)], key: aKey() };
  }

  test('before the head: exactly one of the others takes over, the rest follow it', async () => {
    const { wire, leader, followers, key } = await dying();
    expect(await leader.claims(aFlight(), key)).toBe('led');
    const flights = followers.map(() => aFlight());
    for (const [index, follower] of followers.entries()) {
      expect(await follower.claims(flights[index] ?? aFlight(), key)).toBe('followed');
    }
    const diedAt = performance.now();
    wire.cut();
    const words = await Promise.all(
      followers.map(async (follower, index) => {
        const flight = flights[index] ?? aFlight();
        const { loss } = await follower.hears(flight, 'lost');
        expect(loss).toEqual({ answered: false, why: 'lease_lost' });
        return follower.claims(flight, key);
      }),
    );
    expect(words.toSorted()).toEqual(['followed', 'led']);
    expect(performance.now() - diedAt).toBeGreaterThan(lease.leaseMs / 2);
  });

  test('in mid-stream: those that follow lose it, with what they had', async () => {
    const { wire, leader, followers, key } = await dying();
    const [led, flight, follower] = [aFlight(), aFlight(), followers[0]];
    if (follower === undefined) throw new Error('there are two');
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('half'));
    await until('half has come', () => follower.text(flight) === 'half');
    wire.cut();
    expect((await follower.hears(flight, 'lost')).loss).toEqual({ answered: true, why: 'lease_lost' });
    expect(follower.told(flight).words).toEqual(['followed', 'began', 'lost']);
    // The key is free again, and the next flight works.
    await until('a new leader', async () => (await follower.claims(aFlight(), key)) === 'led');
  });

  test('after its end was written: nobody notices', async () => {
    const { wire, leader, followers, key } = await dying();
    const [led, flight, follower] = [aFlight(), aFlight(), followers[0]];
    if (follower === undefined) throw new Error('there are two');
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    follower.hold(flight);
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('whole'));
    leader.publishEnd(led, null);
    await until('the end is written', async () => (await namesIn(fleet.site, ':w:')).length === 0);
    wire.cut();
    follower.resume(flight);
    await follower.hears(flight, 'ended');
    expect(follower.text(flight)).toBe('whole');
  });

  test('stopped beyond its lease and gone on: its writes are refused and counted, another leads meanwhile', async () => {
    const { wire, leader, followers, key } = await dying();
    const [led, flight, follower] = [aFlight(), aFlight(), followers[0]];
    if (follower === undefined) throw new Error('there are two');
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    wire.stall();
    await follower.hears(flight, 'lost');
    expect(await follower.claims(flight, key)).toBe('led');
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('stale'));
    wire.flow();
    await until('it is refused', () => leader.counts.get('fenced') === 1);
    // The one that took over is not disturbed.
    follower.publishHead(flight, head, closesLate);
    follower.publishBytes(flight, Buffer.from('fresh'));
    const third = aFlight();
    expect(await leader.claims(third, key)).toBe('followed');
    follower.publishEnd(flight, null);
    await leader.hears(third, 'ended');
    expect(leader.text(third)).toBe('fresh');
  });

  test('a broken connection costs nothing where it comes back within the lease', async () => {
    const wire = await wireTo(fleet.site.nodes[0]?.port ?? 0);
    const leader = await fleet.behind(wire, { leaseMs: 5_000 });
    const follower = await fleet.add({ leaseMs: 5_000 });
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    const pieces = Array.from({ length: 40 }, (_, index) => `${index},`);
    for (const [index, piece] of pieces.entries()) {
      leader.publishBytes(led, Buffer.from(piece));
      if (index % 10 === 5) {
        await fleet.site.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await fleet.site.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    leader.publishEnd(led, null);
    await follower.hears(flight, 'ended');
    expect(follower.text(flight)).toBe(pieces.join(''));
    expect(leader.counts.get('fenced')).toBeUndefined();
  });
});

onEachRedis('a lease', (fleet) => {
  test('that is lost between a heartbeat and a write refuses the write, and the local flight hears nothing', async () => {
    const [leader, follower] = await fleet.pair(lease);
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    for (const name of [...(await namesIn(fleet.site, ':w:')), ...(await namesIn(fleet.site, ':lease'))]) {
      await fleet.site.command('DEL', name);
    }
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('never'));
    await until('it is refused', () => leader.counts.get('fenced') === 1);
    leader.publishBytes(led, Buffer.from('nor this'));
    leader.publishEnd(led, null);
    expect((await follower.hears(flight, 'lost')).loss).toEqual({ answered: false, why: 'lease_lost' });
    expect(leader.told(led).words).toEqual(['led']);
    expect(leader.counts.get('fenced')).toBe(1);
    expect(await follower.claims(flight, key)).toBe('led');
  });

  test('is kept for as long as a leader thinks, and followers wait', async () => {
    const [leader, follower] = await fleet.pair({ leaseMs: 700 });
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    // For some leases nothing is said but that it lives.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(follower.told(flight).words).toEqual(['followed']);
    expect(await follower.claims(aFlight(), key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    leader.publishEnd(led, null);
    await follower.hears(flight, 'ended');
  });

  test('given back by a leader that fails lets those without bytes claim at once', async () => {
    const [leader, follower] = await fleet.pair({ leaseMs: 30_000 });
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    leader.publishFailure(led);
    expect((await follower.hears(flight, 'lost')).loss).toEqual({ answered: false, why: 'gave_up' });
    expect(await follower.claims(flight, key)).toBe('led');
  });

  test('given back in mid-stream cuts those with bytes', async () => {
    const [leader, follower] = await fleet.pair({ leaseMs: 30_000 });
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    expect(await leader.claims(led, key)).toBe('led');
    expect(await follower.claims(flight, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    await follower.hears(flight, 'began');
    leader.leave(led);
    expect((await follower.hears(flight, 'lost')).loss).toEqual({ answered: true, why: 'cut' });
  });

  test('is given back when an instance closes', async () => {
    const [leader, follower] = await fleet.pair({ leaseMs: 30_000 });
    const key = aKey();
    expect(await leader.claims(aFlight(), key)).toBe('led');
    await leader.close();
    expect(await follower.claims(aFlight(), key)).toBe('led');
    expect((await namesIn(fleet.site, ':w:')).length).toBe(1);
  });
});
