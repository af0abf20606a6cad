/** The kinds of Redis that a fleet's tests run on, and the fleet that each test has to itself. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startRedis, startRedisCluster, type RedisServer } from '../../harness/redis.ts';
import type { Wire } from './wire-tap.ts';
import { startInstance, withRedis, type Instance, type InstanceOptions } from './fleet.ts';

export type Site = {
  readonly url: string;
  /** Each of them has a part of the keys, or all. */
  readonly nodes: readonly RedisServer[];
  /** One command, on the node that has its key. */
  command(...args: readonly (string | Buffer)[]): Promise<unknown>;
  end(): Promise<void>;
};

export type Fleet = {
  readonly site: Site;
  /** More instances; they are closed when the test is over. */
  add(options?: InstanceOptions): Promise<Instance>;
  pair(options?: InstanceOptions): Promise<readonly [Instance, Instance]>;
  /** Behind a wire of its own, on a site of one server. */
  behind(wire: Wire, options?: InstanceOptions): Promise<Instance>;
};

export async function oneRedis(...args: readonly string[]): Promise<Site> {
  const server = await startRedis(...args);
  return siteOf(server.url, [server], () => server.end());
}

async function aCluster(): Promise<Site> {
  const cluster = await startRedisCluster();
  return siteOf(cluster.url, cluster.nodes, () => cluster.end());
}

function siteOf(url: string, nodes: readonly RedisServer[], end: () => Promise<void>): Site {
  const command = async (...args: readonly (string | Buffer)[]): Promise<unknown> => {
    for (const node of nodes) {
      const reply = await node.command(...args).catch((error: unknown) => error);
      if (!(reply instanceof Error)) return reply;
      if (!reply.message.startsWith('MOVED')) throw reply;
    }
    throw new Error(`no node takes ${String(args[0])}`);
  };
  return { url, nodes, command, end };
}

/** The same tests on one server and on a Cluster of three. */
export function onEachRedis(what: string, tests: (fleet: Fleet) => void): void {
  withRedis.each([
    { kind: 'one Redis', start: () => oneRedis() },
    { kind: 'a Cluster', start: aCluster },
  ])(`${what}, on $kind`, ({ start }) => {
    tests(fleetOn(start));
  });
}

/** Hooks of a suite whose tests share a site. */
export function fleetOn(start: () => Promise<Site>): Fleet {
  let site: Site | undefined;
  const instances: Instance[] = [];
  beforeAll(async () => {
    site = await start();
  });
  afterEach(async () => {
    await Promise.all(instances.splice(0).map((instance) => instance.close()));
  });
  afterAll(() => site?.end());
  const here = (): Site => {
    if (site === undefined) throw new Error('the site has not been started');
    return site;
  };
  const at = async (url: string, options?: InstanceOptions): Promise<Instance> => {
    const instance = await startInstance(url, options);
    instances.push(instance);
    return instance;
  };
  const add = (options?: InstanceOptions): Promise<Instance> => at(here().url, options);
  return {
    get site() {
      return here();
    },
    add,
    behind: (wire, options) => at(wire.url, options),
    pair: async (options) => [await add(options), await add(options)],
  };
}

/** Names in Redis that end in a part, such as `:lease`, or have it before a token, such as `:w:`; on all nodes. */
export async function namesIn(site: Site, part: string): Promise<string[]> {
  const all = await Promise.all(site.nodes.map((node) => node.command('KEYS', `*${part}*`)));
  return all.flatMap((names) => (names as string[]).map(String));
}
