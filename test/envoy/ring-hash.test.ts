/** envoy/ring-hash.yaml beside the shipped Envoy configuration: a real Envoy hashes tenants onto processors. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { begin, chat } from '../../harness/http-client.ts';
import { startMockLlm, type MockLlm } from '../../harness/mock-llm.ts';
import {
  type Cluster,
  clusterNamed,
  connectionManager,
  type EnvoyConfig,
  type EnvoyProcess,
  type Listener,
  type ProcessorProcess,
  replacePorts,
  setClusterPort,
  shippedEnvoyConfig,
  shippedProcessorConfig,
} from '../../harness/stack.ts';
import { startEnvoy } from '../../harness/stack/envoy-process.ts';
import { freePort, startProcessor } from '../../harness/stack/processor-process.ts';
import { until } from '../support/condition.ts';
import { readShipped } from '../support/deployed.ts';

type Metadata = { readonly key: string; readonly value: string };
type Recipe = { readonly initial_metadata: Metadata[]; readonly listeners: Listener[]; readonly clusters: Cluster[] };

const recipe = parse(readShipped('envoy/ring-hash.yaml')) as Recipe;

const tenants = Array.from({ length: 12 }, (_, index) => `Bearer tenant-${index}`);

let folder = '';
let mock: MockLlm;
let envoys: EnvoyProcess[] = [];
let processors: ProcessorProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-ring-'));
  mock = await startMockLlm();
  const listening = [await startOne('one'), await startOne('two')];
  processors = listening.map(({ processor }) => processor);
  const ports = listening.map(({ port }) => port);
  envoys = [await startRing('a', ports), await startRing('b', ports)];
});

afterAll(async () => {
  for (const child of [...envoys, ...processors]) await child.end();
  await mock.close();
  await rm(folder, { recursive: true, force: true });
});

async function place(name: string): Promise<string> {
  return mkdtemp(join(folder, name));
}

async function startOne(name: string): Promise<{ processor: ProcessorProcess; port: number }> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = {
    ...(await shippedProcessorConfig('attached')),
    listen: [`127.0.0.1:${port}`],
    admin: `127.0.0.1:${adminPort}`,
    limits: { max_loop_delay: '60s' },
  };
  return { processor: await startProcessor(config, { folder: await place(name), adminPort }), port };
}

async function startRing(name: string, ports: readonly number[]): Promise<EnvoyProcess> {
  const config: EnvoyConfig = await shippedEnvoyConfig('attached');
  const shard = await freePort();
  replacePorts(config, { llm: mock.port, coalescer: shard });
  for (const filter of connectionManager(config, 'ingress').http_filters.slice(0, 2))
    metadataOf(filter).push(...recipe.initial_metadata);
  const { listeners, clusters } = structuredClone(recipe);
  config.static_resources.listeners.push(...listeners);
  config.static_resources.clusters.push(...clusters);
  const listener = config.static_resources.listeners.find((one) => one.name === 'to-coalescers');
  if (listener === undefined) throw new Error('the recipe has no listener');
  listener.address.socket_address.port_value = shard;
  setClusterPort(config, 'coalescer', shard);
  const ring = clusterNamed(config, 'coalescers');
  ring['type'] = 'STATIC';
  const endpoints = ports.map((port) => ({
    endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
  }));
  ring.load_assignment.endpoints = [{ lb_endpoints: endpoints }];
  const options = { folder: await place(name), version: process.env['ENVOY_VERSION'], concurrency: 1, args: [] };
  return startEnvoy(config, options);
}

function metadataOf(filter: { typed_config: Record<string, unknown> }): Metadata[] {
  const own =
    (filter.typed_config['extension_config'] as typeof filter | undefined)?.typed_config ?? filter.typed_config;
  return (own['grpc_service'] as { initial_metadata: Metadata[] }).initial_metadata;
}

/** The same call of each tenant through each Envoy, at once; how many upstream calls it made. */
async function callsOfAll(prompt: string): Promise<number> {
  const before = mock.calls.length;
  const sent = tenants.flatMap((authorization) =>
    envoys.map((envoy) => {
      const url = `http://127.0.0.1:${envoy.ports.get('ingress') ?? 0}`;
      // The authority is part of the key, and each Envoy has a port of its own.
      const headers = { host: 'llm.example', authorization, 'x-mock-delay-ms': '3000' };
      return begin({ url, ...chat(prompt, { headers }) });
    }),
  );
  const exchanges = await Promise.all(sent.map(({ done }) => done));
  expect(exchanges.map(({ status, ending }) => [status, ending])).toEqual(sent.map(() => [200, 'complete']));
  return mock.calls.length - before;
}

test('calls of one tenant through two Envoys meet in one processor, and tenants are spread over both', async () => {
  expect(await callsOfAll('same')).toBe(tenants.length);
  const led = await Promise.all(processors.map(async (one) => (await one.metrics()).get('coalesce_misses_total') ?? 0));
  expect(led.reduce((sum, count) => sum + count, 0)).toBe(tenants.length);
  for (const count of led) expect(count).toBeGreaterThan(0);
});

test('a processor that is gone takes nothing along: its tenants share on the other', async () => {
  await processors[0]?.end();
  expect(await callsOfAll('while nobody knows')).toBeLessThanOrEqual(2 * tenants.length);
  for (const envoy of envoys) {
    await until(
      'it is known',
      async () => {
        return (await envoy.stats('membership_healthy')).get('cluster.coalescers.membership_healthy') === 1;
      },
      20_000,
    );
  }
  expect(await callsOfAll('when it is known')).toBe(tenants.length);
});
