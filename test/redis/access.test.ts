/** How a Redis is reached: as a user with few rights, through Sentinels, over TLS. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startRedis, startSentinel, type RedisServer } from '../../harness/redis.ts';
import { repositoryRoot } from '../../harness/root.ts';
import { freePort } from '../../harness/stack/processor-process.ts';
import { readShipped } from '../support/deployed.ts';
import {
  aFlight,
  aKey,
  beginInstance,
  closesLate,
  head,
  startInstance,
  withRedis,
  type Instance,
} from '../support/fleet.ts';
import { until } from '../support/condition.ts';

const execute = promisify(execFile);

/** A share from the claim to the end; the names are those of the default prefix. */
async function shares(leader: Instance, follower: Instance): Promise<void> {
  const [led, flight, key] = [aFlight(), aFlight(), aKey()];
  expect(await leader.claims(led, key)).toBe('led');
  expect(await follower.claims(flight, key)).toBe('followed');
  leader.publishHead(led, head, closesLate);
  leader.publishBytes(led, Buffer.from('shared'));
  await until('it is read', () => follower.text(flight) === 'shared');
  leader.publishEnd(led, null);
  await follower.hears(flight, 'ended');
}

withRedis('a Redis', () => {
  test('serves the user that docs/multi-instance.md makes, who can do nothing else', async () => {
    const server = await startRedis();
    const [line = ''] = /(?<=^ {4})ACL SETUSER .*$/m.exec(readShipped('docs/multi-instance.md')) ?? [];
    await server.command(...line.replace('PASSWORD', 'secret word').split(/ (?!word)/));
    await server.command('CONFIG', 'SET', 'requirepass', 'somebody else’s');
    const url = `redis://coalescer:secret%20word@127.0.0.1:${server.port}`;
    const options = { prefix: 'coalesce:', maxUpstream: 1, leaseMs: 1_500 };
    const pair = [await startInstance(url, options), await startInstance(url, options)] as const;
    try {
      await shares(...pair);
      const [first, second] = [aFlight(), aFlight()];
      pair[0].takeSlot(first);
      await pair[0].hears(first, 'granted');
      pair[1].takeSlot(second);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect(pair[1].told(second).words).toEqual([]);
      pair[0].giveSlotBack(first);
      await pair[1].hears(second, 'granted');
      expect(pair.map(({ log }) => log)).toEqual([['up'], ['up']]);
      // Another prefix is not theirs.
      const stranger = beginInstance(url, { ...options, prefix: 'other:' });
      expect(await stranger.claims(aFlight(), aKey())).toBe('alone');
      await stranger.close();
    } finally {
      await Promise.all(pair.map((instance) => instance.close()));
      await server.end();
    }
  });

  test('that is not let in stands alone, and says why without the password', async () => {
    const server = await startRedis('--requirepass', 'right');
    const instance = beginInstance(`redis://:wrong@127.0.0.1:${server.port}`);
    try {
      await until('it is told', () => instance.log.length === 1);
      expect(instance.log[0]).toContain('WRONGPASS');
      expect(instance.log[0]).not.toContain('wrong@');
      expect(await instance.claims(aFlight(), aKey())).toBe('alone');
    } finally {
      await instance.close();
      await server.end();
    }
  });

  test('is found through a Sentinel, and found again after a failover', async () => {
    const servers: RedisServer[] = [];
    const instances: Instance[] = [];
    try {
      const master = await startRedis();
      servers.push(master);
      const replica = await startRedis('--replicaof', '127.0.0.1', String(master.port));
      servers.push(replica);
      const sentinel = await startSentinel(master);
      servers.push(sentinel);
      const nobody = await freePort();
      const url = `redis+sentinel://127.0.0.1:${nobody},127.0.0.1:${sentinel.port}/mine`;
      instances.push(await startInstance(url), await startInstance(url));
      const [leader, follower] = instances as [Instance, Instance];
      await shares(leader, follower);
      await until(
        'the Sentinel knows the replica',
        async () => {
          const replicas = await sentinel.command('SENTINEL', 'REPLICAS', 'mine');
          return Array.isArray(replicas) && replicas.length === 1;
        },
        20_000,
      );
      master.kill('SIGKILL');
      await master.exit;
      await until('it stands alone', async () => (await leader.claims(aFlight(), aKey())) === 'alone');
      await until('another master is found', () => leader.isUp() && follower.isUp(), 25_000);
      await shares(leader, follower);
      expect(String(await replica.command('ROLE'))).toContain('master');
    } finally {
      await Promise.all(instances.map((instance) => instance.close()));
      await Promise.all(servers.map((server) => server.end()));
    }
  }, 60_000);

  test('is found through any Sentinel that knows it, though the first takes another for the master', async () => {
    const ends: (() => Promise<void>)[] = [];
    const kept = <Ends extends { end(): Promise<void> }>(started: Ends): Ends => {
      ends.unshift(() => started.end());
      return started;
    };
    try {
      const master = kept(await startRedis());
      const replica = kept(await startRedis('--replicaof', '127.0.0.1', String(master.port)));
      const gone = { port: await freePort() };
      const sentinels = [];
      for (const watched of [gone, replica, master]) sentinels.push(kept(await startSentinel(watched)));
      const url = `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/mine`;
      const pair = [await startInstance(url), await startInstance(url)] as const;
      ends.unshift(...pair.map((instance) => () => instance.close()));
      await shares(...pair);
      // What the first attempts came to is no loss of the connection that was found.
      expect(pair.map(({ log }) => log)).toEqual([['up'], ['up']]);
    } finally {
      for (const end of ends) await end();
    }
  }, 30_000);

  test('over TLS has to prove who it is', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-tls-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate];
    await execute('openssl', [...made, ...subject]);
    const port = await freePort();
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
    const server = await startRedis('--tls-port', String(port), ...files, '--tls-auth-clients', 'no');
    const url = `rediss://127.0.0.1:${port}`;
    const stranger = beginInstance(url);
    try {
      await until('it is told', () => stranger.log.length === 1);
      expect(stranger.log[0]).toContain('self-signed certificate');
      expect(await stranger.claims(aFlight(), aKey())).toBe('alone');
      // Node reads its authorities when a process starts.
      const script = join(folder, 'claim.mjs');
      await writeFile(script, claimOnce(url));
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificate };
      const { stdout } = await execute(process.execPath, [script], { env });
      expect(stdout.trim()).toBe('led');
    } finally {
      await stranger.close();
      await server.end();
      await rm(folder, { recursive: true });
    }
  });
});

/** A program on what is built: connects, and tells what its first claim in Redis came to. */
function claimOnce(url: string): string {
  const built = (file: string): string => JSON.stringify(join(repositoryRoot, 'dist', file));
  return `
    import { connectSharedFlights } from ${built('redis/fleet-table.js')};
    import { parseRedisUrl } from ${built('config/fleet/redis-url.js')};
    const redis = { url: parseRedisUrl('${url}'), prefix: 'test:', leaseMs: 1000, budgetMs: 500, encrypt: true };
    const ignore = () => undefined;
    const metrics = { setRedisUp: ignore, countRedisClaim: ignore, observeRedisClaim: ignore, countFencedWrite: ignore };
    const tell = (word) => async () => {
      console.log(word);
      await table.close();
    };
    const events = { led: tell('led'), followed: tell('followed'), stoodAlone: tell('alone') };
    const log = {
      redisDown: (cause) => tell(String(cause))(),
      redisUp: () => table.claim('0000000000000001', '0'.repeat(64)),
    };
    const limits = () => ({ maxReplayBytes: 1024, maxUpstream: 0 });
    const table = connectSharedFlights({ redis, secret: () => Buffer.alloc(32), limits, events, log, metrics });
  `;
}
