/**
 * A Redis that is down, slow, full, read-only or has lost its memory: flights stand alone within the budget, nothing throws,
 * and sharing comes back with it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { beforeEach, expect, test } from 'vitest';
import { startRedis, type RedisServer } from '../../harness/redis.ts';
import { fleetOn, namesIn, oneRedis } from '../support/fleet-servers.ts';
import { aFlight, aKey, beginInstance, closesLate, head, withRedis, type Instance } from '../support/fleet.ts';
import { until } from '../support/condition.ts';

const budgetMs = 250;
/** A decision that is overdue is told within the budget and a tick. How long a tick was is the machine's affair. */
const loop = monitorEventLoopDelay({ resolution: 1 });
const longestMs = (): number => budgetMs + 50 + 3 * (loop.max / 1e6);
const options = { leaseMs: 1_000, budgetMs };

withRedis('an unwell Redis', () => {
  const fleet = fleetOn(() => oneRedis());
  beforeEach(() => {
    loop.enable();
    loop.reset();
  });
  const server = (): RedisServer => {
    const [first] = fleet.site.nodes;
    if (first === undefined) throw new Error('there is one');
    return first;
  };

  /** Claims until one stands alone, then some more: all within the budget. */
  async function standsAlone(instance: Instance): Promise<void> {
    await until('a claim that stands alone', async () => (await instance.claims(aFlight(), aKey())) === 'alone');
    for (let index = 0; index < 10; index += 1) await instance.claims(aFlight(), aKey());
    expect(instance.longestClaimMs()).toBeLessThan(longestMs());
  }

  async function sharesAgain(pair: readonly [Instance, Instance]): Promise<void> {
    const [leader, follower] = pair;
    await until('both are up', () => leader.isUp() && follower.isUp(), 20_000);
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    await until('it leads', async () => (await leader.claims(led, key)) === 'led');
    await until('it follows', async () => (await follower.claims(flight, key)) === 'followed');
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('again'));
    leader.publishEnd(led, null);
    await follower.hears(flight, 'ended');
    expect(follower.text(flight)).toBe('again');
  }

  type Scene = {
    readonly pair: readonly [Instance, Instance];
    readonly led: ReturnType<typeof aFlight>;
    readonly waiting: ReturnType<typeof aFlight>;
    readonly streaming: ReturnType<typeof aFlight>;
    readonly silent: ReturnType<typeof aFlight>;
  };

  /** One flight that is followed in mid-stream, and one that is followed without bytes. */
  async function inFlight(): Promise<Scene> {
    const pair = await fleet.pair(options);
    const [leader, follower] = pair;
    const [led, silent, waiting, streaming] = [aFlight(), aFlight(), aFlight(), aFlight()];
    const [key, silentKey] = [aKey(), aKey()];
    expect(await leader.claims(led, key)).toBe('led');
    expect(await leader.claims(silent, silentKey)).toBe('led');
    expect(await follower.claims(streaming, key)).toBe('followed');
    expect(await follower.claims(waiting, silentKey)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    leader.publishBytes(led, Buffer.from('half'));
    await until('half has come', () => follower.text(streaming) === 'half');
    return { pair, led, silent, waiting, streaming };
  }

  /** Without bytes: may claim again. With bytes: cut. The leader hears nothing. */
  async function bothLost({ pair, led, silent, waiting, streaming }: Scene): Promise<void> {
    const [leader, follower] = pair;
    expect((await follower.hears(waiting, 'lost')).loss?.answered).toBe(false);
    expect((await follower.hears(streaming, 'lost')).loss?.answered).toBe(true);
    expect(follower.text(streaming)).toBe('half');
    expect(leader.told(led).words).toEqual(['led']);
    expect(leader.told(silent).words).toEqual(['led']);
    leader.publishBytes(led, Buffer.from('more'));
    leader.publishEnd(led, null);
    leader.publishFailure(silent);
  }

  test('that is killed costs sharing only, and is used again when it is back, empty', async () => {
    const scene = await inFlight();
    server().kill('SIGKILL');
    await server().exit;
    const claimed = standsAlone(scene.pair[0]);
    await bothLost(scene);
    await claimed;
    await server().restart();
    await sharesAgain(scene.pair);
    expect(scene.pair[0].log.filter((line) => line.startsWith('down')).length).toBe(1);
    expect(scene.pair[0].log.at(-1)).toBe('up');
  });

  test('that is stopped is not waited for, and is used again when it goes on', async () => {
    const scene = await inFlight();
    server().kill('SIGSTOP');
    const claimed = standsAlone(scene.pair[0]);
    await bothLost(scene);
    await claimed;
    server().kill('SIGCONT');
    await sharesAgain(scene.pair);
  });

  test('that is stopped for less than a lease loses nothing', async () => {
    const { pair, led, streaming } = await inFlight();
    server().kill('SIGSTOP');
    pair[0].publishBytes(led, Buffer.from(' and half'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    server().kill('SIGCONT');
    pair[0].publishEnd(led, null);
    await pair[1].hears(streaming, 'ended');
    expect(pair[1].text(streaming)).toBe('half and half');
  });

  test('that pauses its clients is not waited for', async () => {
    const pair = await fleet.pair(options);
    await server().command('CLIENT', 'PAUSE', '1500', 'ALL');
    await standsAlone(pair[0]);
    await sharesAgain(pair);
  });

  test('that gives late what was claimed gets it back', async () => {
    const [leader, follower] = await fleet.pair({ ...options, leaseMs: 60_000 });
    const key = aKey();
    await server().command('CLIENT', 'PAUSE', '800', 'ALL');
    expect(await leader.claims(aFlight(), key)).toBe('alone');
    await until('the key is free again', async () => {
      const flight = aFlight();
      const word = await follower.claims(flight, key);
      if (word === 'followed') follower.leave(flight);
      return word === 'led';
    });
  });

  test('that has become a replica takes no claims, and is used again as a master', async () => {
    const master = await startRedis();
    const pair = await fleet.pair(options);
    try {
      await server().command('REPLICAOF', '127.0.0.1', String(master.port));
      await standsAlone(pair[0]);
      await standsAlone(pair[1]);
    } finally {
      await server().command('REPLICAOF', 'NO', 'ONE');
      await master.end();
    }
    await sharesAgain(pair);
  });

  test('that is full and refuses writes', async () => {
    const scene = await inFlight();
    await server().command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await standsAlone(scene.pair[0]);
      scene.pair[0].publishBytes(scene.led, Buffer.from('more'));
      await bothLost(scene);
    } finally {
      await server().command('CONFIG', 'SET', 'maxmemory', '0');
    }
    await sharesAgain(scene.pair);
  });

  test('that evicts everything: nobody is served wrongly, and another may lead', async () => {
    const scene = await inFlight();
    const [leader, follower] = scene.pair;
    await server().command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await server().command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      leader.publishBytes(scene.led, Buffer.from('more'));
      await bothLost(scene);
      const words = await Promise.all([leader.claims(aFlight(), aKey()), follower.claims(aFlight(), aKey())]);
      expect(words.every((word) => word === 'led' || word === 'alone')).toBe(true);
    } finally {
      await server().command('CONFIG', 'SET', 'maxmemory', '0');
      await server().command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    }
    await sharesAgain(scene.pair);
  });

  test('that forgets its scripts is told them again', async () => {
    const { pair, led, streaming } = await inFlight();
    await server().command('SCRIPT', 'FLUSH');
    pair[0].publishBytes(led, Buffer.from(' and half'));
    pair[0].publishEnd(led, null);
    await pair[1].hears(streaming, 'ended');
    expect(pair[1].text(streaming)).toBe('half and half');
    expect(await pair[0].claims(aFlight(), aKey())).toBe('led');
  });

  test('that is flushed: the leader is fenced, followers lose it', async () => {
    const scene = await inFlight();
    await server().command('FLUSHALL');
    scene.pair[0].publishBytes(scene.led, Buffer.from('more'));
    await until('it is refused', () => (scene.pair[0].counts.get('fenced') ?? 0) >= 1);
    await bothLost(scene);
    await sharesAgain(scene.pair);
  });

  test.each(['LPUSH', 'SADD', 'SET'])('with something of its own under our names (%s)', async (command) => {
    const [leader, follower] = await fleet.pair(options);
    const [led, key] = [aFlight(), aKey()];
    const others = await namesIn(fleet.site, ':lease');
    expect(await leader.claims(led, key)).toBe('led');
    const [pointer = ''] = (await namesIn(fleet.site, ':lease')).filter((name) => !others.includes(name));
    await server().command('DEL', pointer);
    await server().command(command, pointer, 'garbage');
    expect(await follower.claims(aFlight(), key)).toBe('alone');
    leader.publishHead(led, head, closesLate);
    leader.publishEnd(led, null);
    await server().command('DEL', pointer);
    await until('it is well', async () => (await follower.claims(aFlight(), key)) === 'led');
  });

  test('with something of its own where a stream belongs', async () => {
    const [leader, follower] = await fleet.pair(options);
    const [led, flight, key] = [aFlight(), aFlight(), aKey()];
    const others = await namesIn(fleet.site, ':w:');
    expect(await leader.claims(led, key)).toBe('led');
    const [writer = ''] = (await namesIn(fleet.site, ':w:')).filter((name) => !others.includes(name));
    await server().command('SET', writer.replace(':w:', ':s:'), 'garbage');
    expect(await follower.claims(flight, key)).toBe('followed');
    leader.publishHead(led, head, closesLate);
    expect((await follower.hears(flight, 'lost')).loss?.answered).toBe(false);
    expect(leader.told(led).words).toEqual(['led']);
  });

  test('that is not there when the process starts is used when it comes', async () => {
    const late = await startRedis();
    late.kill('SIGKILL');
    await late.exit;
    const instance = beginInstance(late.url, options);
    try {
      expect(await instance.claims(aFlight(), aKey())).toBe('alone');
      await until('it is told', () => instance.log.length === 1);
      expect(instance.log[0]).toContain('ECONNREFUSED');
      await late.restart();
      await until('it is up', () => instance.isUp());
      expect(await instance.claims(aFlight(), aKey())).toBe('led');
    } finally {
      await instance.close();
      await late.end();
    }
  });

  test('under load: every claim is answered within the budget while it is stopped and goes on', async () => {
    const pair = await fleet.pair(options);
    let answered = 0;
    const load = async (instance: Instance): Promise<void> => {
      for (let round = 0; round < 60; round += 1) {
        const key = aKey();
        const words = await Promise.all(Array.from({ length: 5 }, () => instance.claims(aFlight(), key)));
        answered += words.length;
        if (round === 10) server().kill('SIGSTOP');
        if (round === 40) server().kill('SIGCONT');
      }
    };
    await Promise.all(pair.map(load));
    expect(answered).toBe(600);
    for (const instance of pair) expect(instance.longestClaimMs()).toBeLessThan(longestMs());
    await sharesAgain(pair);
  });
});
