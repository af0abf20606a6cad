/** Servers that take a command and never answer it: what is awaited of them is given up, and once. */
import { afterEach, expect, test } from 'vitest';
import { parseRedisUrl } from '../../src/config/fleet/redis-url.ts';
import { openLink, type Link } from '../../src/redis/link/link.ts';
import { claim } from '../../src/redis/link/scripts.ts';
import { until } from '../support/condition.ts';
import { bulk, integer, list, OK, startRespPeer, type RespPeer } from '../support/resp-peer.ts';

const stuckMs = 1_000;
const call = { keys: ['{a}:lease'], args: ['token', '1000'] } as const;

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

function linkTo(text: string): { link: Link; changes: string[] } {
  const url = parseRedisUrl(text);
  if (url === null) throw new Error(`not the URL of a Redis: ${text}`);
  const changes: string[] = [];
  const down = (cause: unknown): void => void changes.push(`down: ${String(cause)}`);
  const link = openLink({ url, stuckMs, up: () => changes.push('up'), down });
  cleanups.push(link.close);
  return { link, changes };
}

async function peer(...args: Parameters<typeof startRespPeer>): Promise<RespPeer> {
  const started = await startRespPeer(...args);
  cleanups.push(() => started.end());
  return started;
}

/**
 * A Cluster of two, of which one has all slots. From `fail` on the other has them: the first says so, and answers no
 * connection any more that is new.
 */
async function movingCluster(): Promise<{ url: string; fail: () => void }> {
  let hasMoved = false;
  const ports: number[] = [];
  const node = (index: 0 | 1): Promise<RespPeer> =>
    peer(
      ([name = '']) => {
        const owner = ports[hasMoved ? 1 : 0] ?? 0;
        if (name === 'CLUSTER') {
          const master = list(bulk('127.0.0.1'), integer(owner), bulk(String(owner).padStart(40, '0')));
          return list(list(integer(0), integer(16_383), master));
        }
        if (name !== 'EVALSHA') return OK;
        return hasMoved && index === 0 ? `-MOVED 1 127.0.0.1:${ports[1]}\r\n` : bulk('led');
      },
      () => hasMoved && index === 0,
    );
  ports.push((await node(0)).port, (await node(1)).port);
  const fail = (): void => {
    hasMoved = true;
  };
  return { url: `redis+cluster://127.0.0.1:${ports[1]}`, fail };
}

test('a command that a Cluster never settles is rejected with its session, and the next session is not given up for it', async () => {
  const { url, fail } = await movingCluster();
  const { link, changes } = linkTo(url);
  await until('it is up', () => link.isUp());
  expect(String(await link.run('decisions', claim, call))).toBe('led');
  fail();
  await expect(link.run('decisions', claim, call)).rejects.toThrow(`no answer within ${stuckMs} ms`);
  await until('it is up again', () => link.isUp());
  const upAgainAt = performance.now();
  while (performance.now() - upAgainAt < 2 * stuckMs) {
    expect(String(await link.run('decisions', claim, call))).toBe('led');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(changes).toEqual(['up', `down: Error: no answer within ${stuckMs} ms`, 'up']);
}, 20_000);

/** A Sentinel that takes `port` for the master's. */
function sentinelOf(port: number): Promise<RespPeer> {
  const master = list(bulk('127.0.0.1'), bulk(port));
  return peer(([name]) => (name === 'SENTINEL' ? master : OK));
}

/** A server that is a master, and says so where it says anything. */
function master(saysSo: boolean): Promise<RespPeer> {
  const role = list(bulk('master'), integer(0), list());
  return peer(([name]) => {
    if (name === 'ROLE') return saysSo ? role : null;
    return name === 'EVALSHA' ? bulk('led') : OK;
  });
}

test('a master that does not say that it is one is given up, and the next Sentinel is asked', async () => {
  const [mute, real] = [await master(false), await master(true)];
  const sentinels = [await sentinelOf(mute.port), await sentinelOf(real.port)];
  const { link, changes } = linkTo(
    `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/mine`,
  );
  await until('it is up', () => link.isUp());
  expect(String(await link.run('decisions', claim, call))).toBe('led');
  expect(mute.connections()).toBe(0);
  expect(changes).toEqual(['up']);
});

test('a master that nobody can tell of is told, and looked for again', async () => {
  const mute = await master(false);
  const silent = await peer(([name]) => (name === 'SENTINEL' ? null : OK));
  const sentinels = [await sentinelOf(mute.port), silent];
  const { changes } = linkTo(`redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/mine`);
  await until('it is told', () => changes.length === 2, 15_000);
  for (const change of changes) {
    expect(change).toContain('no Sentinel knows a master mine');
    expect(change).toContain(`no answer to ROLE within ${stuckMs} ms`);
    expect(change).toContain(`no answer within ${stuckMs} ms`);
  }
  await until('nothing is left open of it', () => mute.connections() + silent.connections() <= 4);
}, 20_000);
