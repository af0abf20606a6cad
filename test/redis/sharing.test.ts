/** Who leads, and what followers on other instances get, in whatever order things come. */
import { expect, test } from 'vitest';
import { onEachRedis } from '../support/fleet-servers.ts';
import { aFlight, aKey, closesLate, head, type Instance } from '../support/fleet.ts';
import { until } from '../support/condition.ts';

onEachRedis('a fleet', (fleet) => {
  /** A leader and the key that it leads. */
  async function leading(instance: Instance, key = aKey()): Promise<ReturnType<typeof aFlight>> {
    const flight = aFlight();
    expect(await instance.claims(flight, key)).toBe('led');
    return flight;
  }

  test('follows the whole answer on another instance, live', async () => {
    const [leader, follower] = await fleet.pair();
    const [followed, key] = [aFlight(), aKey()];
    const led = await leading(leader, key);
    expect(await follower.claims(followed, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('one '));
    expect((await follower.hears(followed, 'began')).head).toEqual(head);
    await until('the first bytes', () => follower.text(followed) === 'one ');
    leader.publishBytes(led, Buffer.from('two'));
    leader.publishEnd(led, [['grpc-status', '0']]);
    expect((await follower.hears(followed, 'ended')).trailers).toEqual([['grpc-status', '0']]);
    expect(follower.text(followed)).toBe('one two');
    expect(follower.told(followed).words).toEqual(['followed', 'began', 'ended']);
    expect(leader.told(led).words).toEqual(['led']);
  });

  test('has one leader when instances claim at once', async () => {
    const instances = [await fleet.add(), await fleet.add(), await fleet.add()];
    for (let round = 0; round < 20; round += 1) {
      const key = aKey();
      const words = await Promise.all(instances.map((instance) => instance.claims(aFlight(), key)));
      expect(words.toSorted()).toEqual(['followed', 'followed', 'led']);
    }
  });

  test('never shares between keys', async () => {
    const [one, other] = await fleet.pair();
    expect(await one.claims(aFlight(), aKey())).toBe('led');
    expect(await other.claims(aFlight(), aKey())).toBe('led');
  });

  test('never shares between secrets, nor between prefixes', async () => {
    const key = aKey();
    const instances = [
      await fleet.add(),
      await fleet.add({ secret: Buffer.alloc(32, 8) }),
      await fleet.add({ prefix: 'other:' }),
    ];
    for (const instance of instances) expect(await instance.claims(aFlight(), key)).toBe('led');
  });

  test('gives a late joiner everything from the start, however late it comes', async () => {
    const [leader, follower] = await fleet.pair();
    const key = aKey();
    const led = await leading(leader, key);
    leader.publishHead(led, head, closesLate);
    const pieces = Array.from({ length: 50 }, (_, index) => `${index},`);
    const followers: ReturnType<typeof aFlight>[] = [];
    for (const piece of pieces) {
      leader.publishBytes(led, Buffer.from(piece));
      const flight = aFlight();
      expect(await follower.claims(flight, key)).toBe('followed');
      followers.push(flight);
    }
    leader.publishEnd(led, null);
    for (const flight of followers) {
      await follower.hears(flight, 'ended');
      expect(follower.text(flight)).toBe(pieces.join(''));
    }
  });

  test('loses nothing where a follower subscribes just before, at and after the end', async () => {
    const [leader, follower] = await fleet.pair();
    for (let round = 0; round < 30; round += 1) {
      const [key, followed] = [aKey(), aFlight()];
      const led = await leading(leader, key);
      leader.publishHead(led, head, closesLate);
      leader.publishBytes(led, Buffer.from('all'));
      const claimed = follower.claims(followed, key);
      // The end is written while the claim is under way, earlier or later with each round.
      for (let turn = 0; turn < round % 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      leader.publishEnd(led, null);
      const word = await claimed;
      if (word === 'led') continue;
      expect(word).toBe('followed');
      await follower.hears(followed, 'ended');
      expect(follower.text(followed)).toBe('all');
    }
  });

  test('reads an answer that is over before its follower looks', async () => {
    const [leader, follower] = await fleet.pair();
    const [key, followed] = [aKey(), aFlight()];
    const led = await leading(leader, key);
    follower.claim(followed, key);
    await follower.hears(followed, 'followed');
    follower.hold(followed);
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('all'));
    leader.publishEnd(led, null);
    expect(await leader.claims(aFlight(), key)).toMatch(/led|followed/);
    await until('the key is free', async () => (await leader.claims(aFlight(), key)) !== 'alone');
    follower.resume(followed);
    await follower.hears(followed, 'ended');
    expect(follower.text(followed)).toBe('all');
  });

  test('begins a new flight after the end', async () => {
    const [leader, follower] = await fleet.pair();
    const key = aKey();
    const led = await leading(leader, key);
    leader.publishHead(led, head, closesLate);
    leader.publishEnd(led, null);
    // At once where it ended, a moment later elsewhere.
    const next = aFlight();
    expect(await leader.claims(next, key)).toBe('led');
    leader.publishFailure(next);
    await until('the key is free', async () => (await follower.claims(aFlight(), key)) === 'led');
  });

  test('lets nobody join whose joining was closed, and those on board read on', async () => {
    const [leader, follower] = await fleet.pair();
    const [key, followed] = [aKey(), aFlight()];
    const led = await leading(leader, key);
    expect(await follower.claims(followed, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    leader.closeJoining(led);
    const second = aFlight();
    await until('a new generation', async () => (await follower.claims(second, key)) === 'led');
    leader.publishBytes(led, Buffer.from('still'));
    leader.publishEnd(led, null);
    await follower.hears(followed, 'ended');
    expect(follower.text(followed)).toBe('still');
    // The end of the first leaves the second its key.
    expect(await leader.claims(aFlight(), key)).toBe('followed');
  });

  test('closes joining by itself when the head is old enough', async () => {
    const [leader, follower] = await fleet.pair();
    const key = aKey();
    const led = await leading(leader, key);
    leader.publishHead(led, head, { closesAfterMs: 1 });
    await until('a new generation', async () => (await follower.claims(aFlight(), key)) === 'led');
  });

  test('shares an answer without a body as one that is whole', async () => {
    const [leader, follower] = await fleet.pair();
    const [key, followed] = [aKey(), aFlight()];
    const led = await leading(leader, key);
    expect(await follower.claims(followed, key)).toBe('followed');
    leader.publishHead(led, { ...head, status: '204', endOfStream: true }, closesLate);
    const told = await follower.hears(followed, 'began');
    expect(told.head).toMatchObject({ status: '204', endOfStream: true });
    expect(told.words).toEqual(['followed', 'began']);
  });

  test('carries large answers whole', async () => {
    const [leader, follower] = await fleet.pair();
    const [key, followed] = [aKey(), aFlight()];
    const led = await leading(leader, key);
    expect(await follower.claims(followed, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    const pieces = Array.from({ length: 40 }, (_, index) => Buffer.alloc(100_000, index));
    for (const piece of pieces) {
      leader.publishBytes(led, piece);
      const bytes = Buffer.concat(pieces.slice(0, pieces.indexOf(piece) + 1)).length;
      await until('it is read', () => Buffer.concat(follower.told(followed).bytes).length === bytes);
    }
    leader.publishEnd(led, null);
    await follower.hears(followed, 'ended');
    expect(Buffer.concat(follower.told(followed).bytes).equals(Buffer.concat(pieces))).toBe(true);
  });

  test('gives followers only the head fields that followers get', async () => {
    const [leader, follower] = await fleet.pair();
    const [key, followed] = [aKey(), aFlight()];
    const led = await leading(leader, key);
    expect(await follower.claims(followed, key)).toBe('followed');
    const headers = [...head.headers, ['set-cookie', 'a=b'], ['x-ratelimit-remaining', '3']] as const;
    leader.publishHead(led, { ...head, headers }, closesLate);
    leader.publishEnd(led, [['x-request-id', 'mine']]);
    const told = await follower.hears(followed, 'ended');
    expect(told.head?.headers).toEqual(head.headers);
    expect(told.trailers).toEqual([]);
  });

  test('tells the leader whether anybody elsewhere reads', async () => {
    const [leader, follower] = await fleet.pair({ leaseMs: 900 });
    const [key, followed] = [aKey(), aFlight()];
    const led = await leading(leader, key);
    leader.publishHead(led, head, closesLate);
    expect(leader.isFollowed(led)).toBe(false);
    expect(await follower.claims(followed, key)).toBe('followed');
    await until('it is known', () => leader.isFollowed(led));
    follower.leave(followed);
    await until('it is known that they went', () => !leader.isFollowed(led));
  });

  test('leaves nothing in Redis that does not end by itself', async () => {
    const [leader, follower] = await fleet.pair({ leaseMs: 900 });
    const [key, followed] = [aKey(), aFlight()];
    const led = await leading(leader, key);
    expect(await follower.claims(followed, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('x'));
    await follower.hears(followed, 'began');
    leader.publishEnd(led, null);
    await follower.hears(followed, 'ended');
    await leader.close();
    await follower.close();
    await until(
      'everything has expired',
      async () => {
        const sizes = await Promise.all(fleet.site.nodes.map((node) => node.command('DBSIZE')));
        return sizes.every((size) => size === 0);
      },
      20_000,
    );
  });
});
