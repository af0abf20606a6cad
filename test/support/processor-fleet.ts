/**
 * A fleet for tests: processors, each behind an Envoy of its own, one upstream behind them all, and a real Redis that they
 * share. What its tests ask is across instances; of one alone they ask its stack.
 */
import { expect } from 'vitest';
import { begin, chat, type Sent } from '../../harness/http-client.ts';
import { startMockLlm, type MockLlm } from '../../harness/mock-llm.ts';
import { startRedis, startRedisCluster } from '../../harness/redis.ts';
import { expectQuiet, type Leg, type Stack, startStack } from '../../harness/stack.ts';
import type { FlightRow } from '../../src/observe/admin.ts';
import { until } from './condition.ts';
import type { Conductor } from './conductor.ts';
import { waitLong } from './patient-envoy.ts';

export type ProcessorFleet = {
  readonly stacks: readonly Stack[];
  readonly mock: MockLlm;
  /** Begins a streaming chat call at the instance of this number; the authority is the same at all of them. */
  readonly call: (instance: number, prompt: string, options?: Parameters<typeof chat>[1]) => Sent;
  /** A counter or a gauge, over all instances that run. */
  readonly sum: (name: string) => Promise<number>;
  /** Waits until a counter or a gauge, over all instances, has this value. */
  readonly waitForSum: (name: string, count: number, timeoutMs?: number) => Promise<void>;
  /** The flights of an instance, as its admin port tells them. */
  readonly flights: (instance: number) => Promise<readonly FlightRow[]>;
  /** Waits until every processor is connected to Redis. */
  readonly waitForRedis: (isUp?: 0 | 1) => Promise<void>;
  /** Waits until nothing is left in any processor. */
  readonly expectQuiet: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export type FleetOptions = {
  readonly leg: Leg;
  readonly redisUrl: string;
  readonly upstream: Conductor;
  /** 3 unless given. */
  readonly size?: number;
  /** Merged into what all have, for the instance of this number. */
  readonly config?: (instance: number) => Readonly<Record<string, unknown>>;
  /** Of `redis`, beside the URL. */
  readonly redis?: Readonly<Record<string, unknown>>;
  /** False: Envoy's own timeouts, as shipped. */
  readonly patient?: boolean;
};

type SharedStore = { readonly url: string; end(): Promise<void> };

/** Each leg, on each kind of Redis that a fleet can share through. */
export const fleetKinds: ReadonlyArray<{ leg: Leg; on: string; start: () => Promise<SharedStore> }> = [
  { leg: 'attached', on: 'one Redis', start: () => startRedis() },
  { leg: 'detached', on: 'one Redis', start: () => startRedis() },
  { leg: 'attached', on: 'a Cluster', start: () => startRedisCluster() },
  { leg: 'detached', on: 'a Cluster', start: () => startRedisCluster() },
];

const secret = 'a-secret-of-the-fleet-that-is-long-enough';

/** Longer than the machine needs for a claim while it runs other tests; tests of the budget set their own. */
const budget = '1s';

export async function startFleet(options: FleetOptions): Promise<ProcessorFleet> {
  const mock = await startMockLlm(options.upstream.options);
  const stacks: Stack[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(stacks.map((stack) => stack.close()));
    await mock.close();
  };
  try {
    for (let instance = 0; instance < (options.size ?? 3); instance += 1) {
      stacks.push(await startInstance(instance, { ...options, mock }));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const fleet = fleetOf(stacks, mock, close);
  await fleet.waitForRedis();
  return fleet;
}

function startInstance(instance: number, options: FleetOptions & { mock: MockLlm }): Promise<Stack> {
  const own = options.config?.(instance) ?? {};
  return startStack({
    leg: options.leg,
    upstream: options.mock,
    concurrency: 1,
    config: {
      redis: { url: options.redisUrl, lease: '1s', budget, ...options.redis },
      ...own,
      key: { secret, ...(own['key'] as object | undefined) },
      limits: { max_waiters: 1_000, max_loop_delay: '60s', ...(own['limits'] as object | undefined) },
    },
    ...(options.patient === false ? {} : { mutateEnvoy: waitLong }),
  });
}

function fleetOf(stacks: readonly Stack[], mock: MockLlm, close: () => Promise<void>): ProcessorFleet {
  const stackAt = (instance: number): Stack => {
    const stack = stacks[instance];
    if (stack === undefined) throw new Error(`the fleet has no instance ${instance}`);
    return stack;
  };
  const sum = async (name: string): Promise<number> => {
    // One that was killed counts nothing.
    const none = new Map<string, number>();
    const samples = await Promise.all(stacks.map(({ processor }) => processor.metrics().catch(() => none)));
    return samples.reduce((total, each) => total + (each.get(name) ?? 0), 0);
  };
  return {
    stacks,
    mock,
    call: (instance, prompt, { headers, ...rest } = {}) =>
      begin({
        url: stackAt(instance).ingress.url,
        ...chat(prompt, { ...rest, headers: { host: 'llm.test', ...headers } }),
      }),
    sum,
    waitForSum: (name, count, timeoutMs) =>
      until(`${count} ${name}`, async () => (await sum(name)) === count, timeoutMs ?? 25_000),
    flights: async (instance) => {
      const page = (await stackAt(instance).processor.flights()) as { flights: FlightRow[] };
      return page.flights;
    },
    waitForRedis: (isUp = 1) =>
      until(
        'every processor knows how Redis is',
        async () => (await sum('coalesce_redis_up')) === isUp * stacks.length,
        20_000,
      ),
    expectQuiet: async () => {
      await Promise.all(stacks.map(expectQuiet));
      expect(mock.active()).toBe(0);
    },
    close,
  };
}
