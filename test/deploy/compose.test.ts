/**
 * docker-compose.yml, as far as it can be known without an engine: it is of the Compose schema, its files and names are
 * there, nothing is published beyond the loopback address, and its Envoy and processor share when they run natively.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { currentVersion } from '../../harness/envoy-binary.ts';
import { burst, chat } from '../../harness/http-client.ts';
import { type RedisServer, startRedis } from '../../harness/redis.ts';
import { repositoryRoot } from '../../harness/root.ts';
import {
  type EnvoyConfig,
  expectQuiet,
  replacePorts,
  shippedEnvoyConfig,
  startStack,
  clusterNamed,
} from '../../harness/stack.ts';
import { readConfigFile } from '../../src/config/read.ts';
import { until } from '../support/condition.ts';
import { parseShipped, readShipped, validateEnvoy, withoutPlaces } from '../support/deployed.ts';
import { withRedis } from '../support/fleet.ts';

type Service = {
  image: string;
  build?: { target: string };
  volumes?: string[];
  ports?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  depends_on?: string[] | Record<string, unknown>;
};

type ProcessorFile = { listen: string; admin: string; egress: string; redis: { url: string } };

const compose = parseShipped('docker-compose.yml') as { services: Record<string, Service> };
const services = Object.entries(compose.services);
const processorFile = (): ProcessorFile => parseShipped('deploy/compose/coalescer.yaml') as ProcessorFile;
const envoyFile = 'deploy/compose/envoy.yaml';
const envoy = (): EnvoyConfig => parseShipped(envoyFile) as EnvoyConfig;

describe('docker-compose.yml', () => {
  test('is of the Compose schema', () => {
    const schema = JSON.parse(readShipped('test/data/compose-schema.json')) as object;
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    validate(compose);
    expect(validate.errors ?? []).toEqual([]);
    expect(validate({ services: { one: { imagee: 'x' } } })).toBe(false);
  });

  test.each(services)('%s: its files are there and read-only, its ports on the loopback address', (_name, service) => {
    for (const volume of service.volumes ?? []) {
      const [source = '', , access] = volume.split(':');
      expect(existsSync(join(repositoryRoot, source)), source).toBe(true);
      expect(access).toBe('ro');
    }
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
  });

  test.each(services)('%s: a pinned image without privileges', (_name, service) => {
    expect(service.image).toMatch(service.build === undefined ? /:v?\d+\.\d+\.\d+$/ : /:local$/);
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
  });

  test('ours and Envoy have a read-only root, and Envoy is the version that we test on', () => {
    for (const name of ['processor', 'envoy', 'mock-llm']) expect(compose.services[name]?.read_only, name).toBe(true);
    expect(compose.services['envoy']?.image).toBe(`envoyproxy/envoy:v${currentVersion}`);
  });

  test('every host name in its configurations is a service', () => {
    const hosts = [
      ...envoy().static_resources.clusters.map(hostOf),
      ...[...readShipped('deploy/compose/prometheus.yaml').matchAll(/targets: \['([\w-]+):\d+'\]/g)].map(
        ([, host]) => host,
      ),
      new URL(processorFile().egress).hostname,
      new URL(processorFile().redis.url).hostname,
      new URL(/url: (\S+)/.exec(readShipped('deploy/grafana/provisioning/datasources/prometheus.yaml'))?.[1] ?? '')
        .hostname,
    ];
    expect(hosts).toHaveLength(7);
    for (const host of hosts) expect(Object.keys(compose.services)).toContain(host);
  });
});

test('the processor’s configuration has no mistake', () => {
  const path = join(repositoryRoot, 'deploy/compose/coalescer.yaml');
  expect(readConfigFile(path, () => Buffer.from(readShipped('deploy/compose/coalescer.yaml'))).kind).not.toBe(
    'mistakes',
  );
});

test('Envoy’s configuration is the shipped one but for addresses, and Envoy accepts it', async () => {
  expect(withoutPlaces(envoy())).toEqual(withoutPlaces(await shippedEnvoyConfig('detached')));
  expect(envoy().static_resources.clusters.map((cluster) => cluster['type'])).toEqual(['STRICT_DNS', 'STRICT_DNS']);
  expect(await validateEnvoy(readShipped(envoyFile))).toContain('OK');
});

test('run natively, with the names resolved to this machine and no Redis, callers share', async () => {
  await expectSharing('redis://127.0.0.1:1', 'alone');
});

withRedis('with a Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.end());

  test('run natively, the processor leads what it calls', () => expectSharing(redis.url, 'led'));
});

async function expectSharing(redisUrl: string, claimed: 'alone' | 'led'): Promise<void> {
  const { listen: _listen, admin: _admin, egress: _egress, redis, ...config } = processorFile();
  const stack = await startStack({
    leg: 'detached',
    config: { ...config, redis: { ...redis, url: redisUrl, budget: '1s' } },
    mock: { script: { delayMs: 300 } },
    mutateEnvoy: (shipped) => {
      const ports = { llm: portOf(shipped, 'llm'), coalescer: portOf(shipped, 'coalescer') };
      Object.assign(shipped, envoy());
      replacePorts(shipped, ports);
      for (const { address } of [shipped.admin, ...shipped.static_resources.listeners])
        address.socket_address.address = '127.0.0.1';
      for (const name of ['llm', 'coalescer']) placeOf(shipped, name).address = 'localhost';
    },
  });
  try {
    const isUp = claimed === 'led' ? 1 : 0;
    await until('Redis', async () => (await stack.processor.metrics()).get('coalesce_redis_up') === isUp);
    const exchanges = await Promise.all(
      burst(3, () => ({ url: stack.ingress.url, ...chat('hello') })).map(({ done }) => done),
    );
    expect(exchanges.map(({ status, ending }) => [status, ending])).toEqual(Array(3).fill([200, 'complete']));
    expect(stack.mock.callCount()).toBe(1);
    const samples = await stack.processor.metrics();
    expect(samples.get(`coalesce_redis_claims_total{answer="${claimed}"}`)).toBe(1);
    await expectQuiet(stack);
  } finally {
    await stack.close();
  }
}

function hostOf({ load_assignment }: EnvoyConfig['static_resources']['clusters'][number]): string | undefined {
  return load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint.address.socket_address.address;
}

function portOf(config: EnvoyConfig, cluster: string): number {
  return placeOf(config, cluster).port_value;
}

function placeOf(config: EnvoyConfig, cluster: string): { address: string; port_value: number } {
  const endpoint = clusterNamed(config, cluster).load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint;
  if (endpoint === undefined) throw new Error(`${cluster} has no endpoint`);
  return endpoint.address.socket_address;
}
