/**
 * Redis is killed, stopped, restarted empty, made a replica, full, or paused, while callers come to three instances without
 * a break. No request fails that would not have failed without Redis, and sharing comes back with it.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Exchange } from '../../harness/http-client.ts';
import { startRedis, startRedisCluster, type RedisServer } from '../../harness/redis.ts';
import type { Leg } from '../../harness/stack.ts';
import { ends } from '../fault/callers.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { withRedis } from '../support/fleet.ts';
import { startFleet, type ProcessorFleet } from '../support/processor-fleet.ts';

const budgetMs = 200;

/** Callers at once, over three instances and a few prompts, each followed by the next. */
const CALLERS = 12;

/** What the fleet shares through, and the server of it that the fault comes to. */
type Store = { readonly url: string; readonly sick: RedisServer; end(): Promise<void> };

async function oneServer(): Promise<Store> {
  const server = await startRedis();
  return { url: server.url, sick: server, end: () => server.end() };
}

/** A third of the keys is on the node that is sick; where it is away for long, the others serve nothing either. */
async function cluster(): Promise<Store> {
  const all = await startRedisCluster();
  const [sick] = all.nodes;
  if (sick === undefined) throw new Error('a Cluster without nodes');
  return { url: all.url, sick, end: () => all.end() };
}

const kinds = [
  { leg: 'attached', on: 'one Redis', start: oneServer },
  { leg: 'detached', on: 'one Redis', start: oneServer },
  { leg: 'attached', on: 'a Cluster', start: cluster },
  { leg: 'detached', on: 'a Cluster', start: cluster },
] as const satisfies readonly { leg: Leg; on: string; start: () => Promise<Store> }[];

type Fault = {
  readonly what: string;
  readonly begin: (redis: RedisServer) => Promise<unknown>;
  readonly mend: (redis: RedisServer) => Promise<unknown>;
};

const faults: readonly Fault[] = [
  {
    what: 'killed and restarted empty',
    begin: async (redis) => {
      redis.kill('SIGKILL');
      await redis.exit;
    },
    mend: (redis) => redis.restart(),
  },
  {
    what: 'stopped',
    begin: async (redis) => redis.kill('SIGSTOP'),
    mend: async (redis) => redis.kill('SIGCONT'),
  },
  {
    what: 'made a replica',
    begin: (redis) => redis.command('REPLICAOF', '127.0.0.1', '1'),
    mend: (redis) => redis.command('REPLICAOF', 'NO', 'ONE'),
  },
  {
    what: 'full',
    begin: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', '1'),
    mend: (redis) => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
  },
  {
    what: 'paused',
    begin: (redis) => redis.command('CLIENT', 'PAUSE', '3000', 'ALL'),
    mend: async () => undefined,
  },
  {
    what: 'emptied',
    begin: (redis) => redis.command('FLUSHALL'),
    mend: async () => undefined,
  },
];

withRedis.each(kinds)('$leg, on $on', ({ leg, on, start }) => {
  let upstream: Conductor;
  let redis: Store;
  let fleet: ProcessorFleet;

  beforeEach(async () => {
    upstream = new Conductor();
    redis = await start();
    fleet = await startFleet({ leg, redisUrl: redis.url, upstream, redis: { budget: `${budgetMs}ms` } });
  }, 120_000);
  afterEach(async () => {
    // A stopped one would not end.
    redis?.sick.kill('SIGCONT');
    await fleet?.close();
    await redis?.end();
  });

  // A node of a Cluster is nobody's replica by that command.
  const possible = faults.filter(({ what }) => on === 'one Redis' || what !== 'made a replica');

  describe.each(possible)('$what', ({ begin, mend }) => {
    test('under load: no request fails, and afterwards instances share again', async () => {
      const load = startLoad();
      await load.served(60);
      await begin(redis.sick);
      await load.served(150);
      await mend(redis.sick);
      await load.served(60);
      const exchanges = await load.stop();
      const failed = exchanges.filter((exchange) => !isWhole(exchange));
      expect(failed.map(({ status, ending, error }) => `${status} ${ending} ${error ?? ''}`)).toEqual([]);
      await fleet.waitForRedis();
      await shareAgain();
      await fleet.expectQuiet();
    }, 120_000);
  });

  function isWhole({ status, ending, body }: Exchange): boolean {
    return status === 200 && ending === 'complete' && JSON.parse(body.toString()) !== null;
  }

  /** Answers of known length, which come whole or not at all: who has the beginning of a stream from elsewhere is cut with it. */
  function startLoad(): { served(count: number): Promise<void>; stop(): Promise<Exchange[]> } {
    const exchanges: Exchange[] = [];
    let stopped = false;
    const run = async (caller: number): Promise<void> => {
      for (let turn = 0; !stopped; turn += 1) {
        const prompt = `load ${(turn + Math.floor(caller / 6)) % 5}`;
        upstream.play(prompt, { delayMs: 20, framing: 'length' });
        exchanges.push(...(await ends([fleet.call(caller % 3, prompt, { body: { stream: false } })])));
      }
    };
    const callers = Array.from({ length: CALLERS }, (_, caller) => run(caller));
    return {
      served: (count) => {
        const from = exchanges.length;
        return until(`${count} more answers`, () => exchanges.length >= from + count, 60_000);
      },
      stop: async () => {
        stopped = true;
        await Promise.all(callers);
        return exchanges;
      },
    };
  }

  async function shareAgain(): Promise<void> {
    const gate = gateAt('head');
    upstream.play('after', gate.script);
    const sent = [0, 1, 2].map((instance) => fleet.call(instance, 'after'));
    await until('two that follow', async () => {
      const flights = (await Promise.all([0, 1, 2].map((instance) => fleet.flights(instance)))).flat();
      return flights.filter((flight) => flight.fleet === 'follows').length === 2;
    });
    gate.open();
    for (const { ending } of await ends(sent)) expect(ending).toBe('complete');
    expect(upstream.calls('after')).toHaveLength(1);
  }
});
