/** The kinds of Redis that a fleet's tests run on, and the fleet that each test has to itself. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startRedis, startRedisCluster, type RedisServer } from '../../harness/redis.ts';
import { startInstance, withRedis, type Instance, type InstanceOptions } from './fleet.ts';

export type Site = {
  readonly url: string;
  /** Each of them has a part of the keys, or all. */
  readonly nodes: readonly RedisServer[];
  /** One command on every node; the first that is no error of a node without the key. */
  command(...args: readonly string[]): Promise<unknown>;
  end(): Promise<void>;
};

export type Fleet = {
  readonly site: Site;
  /** More instances; they are closed when the test is over. */
  add(options?: InstanceOptions): Promise<Instance>;
  pair(options?: InstanceOptions): Promise<readonly [Instance, Instance]>;
  /** Closed with the others. */
  keep(instance: Instance): Instance;
};

async function oneRedis(...args: readonly string[]): Promise<Site> {
  const server = await startRedis(...args);
  return siteOf(server.url, [server], () => server.end());
}

async function aCluster(): Promise<Site> {
  const cluster = await startRedisCluster();
  return siteOf(cluster.url, cluster.nodes, () => cluster.end());
}

function siteOf(url: string, nodes: readonly RedisServer[], end: () => Promise<void>): Site {
  const command = async (...args: readonly string[]): Promise<unknown> => {
    for (const node of nodes) {
      const reply = await node.command(...args).catch((error: unknown) => error);
      if (!(reply instanceof Error && reply.message.startsWith('MOVED'))) return reply;
    }
    throw new Error(`no node takes ${args[0] ?? 'it'}`);
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
function fleetOn(start: () => Promise<Site>): Fleet {
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
  const keep = (instance: Instance): Instance => {
    instances.push(instance);
    return instance;
  };
  const add = async (options?: InstanceOptions): Promise<Instance> => keep(await startInstance(here().url, options));
  return {
    get site() {
      return here();
    },
    add,
    keep,
    pair: async (options) => [await add(options), await add(options)],
  };
}
