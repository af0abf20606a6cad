/**
 * What the storm rages on: mock LLM, processor, Envoy and, in the detached leg, a second Envoy with the egress alone, each on
 * a port of its own that it keeps when it comes again. With a Redis there is a second instance of all but the mock, on which it
 * does not rage: what happens to the first and to the Redis is what it sees. The configurations are the shipped ones, but for times.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MockLlm, startMockLlm } from '../harness/mock-llm.ts';
import { type RedisServer, startRedis } from '../harness/redis.ts';
import {
  clusterNamed,
  connectionManager,
  type EnvoyConfig,
  type Leg,
  replacePorts,
  shippedEnvoyConfig,
  shippedProcessorConfig,
} from '../harness/stack/envoy-config.ts';
import { type EnvoyProcess, startEnvoy } from '../harness/stack/envoy-process.ts';
import { freePort, type ProcessorProcess, startProcessor } from '../harness/stack/processor-process.ts';
import { egressMark, type Upstream } from './upstream.ts';

type Instance = {
  readonly url: string;
  readonly processor: ProcessorProcess;
  readonly envoy: RestartableEnvoy;
  /** Null in the attached leg. */
  readonly egress: RestartableEnvoy | null;
};

export type Site = Instance & {
  readonly leg: Leg;
  readonly mock: MockLlm;
  /** Another instance and what it shares its flights through; null: the instance is alone. */
  readonly fleet: { readonly redis: RedisServer; readonly peer: Instance } | null;
  close(): Promise<void>;
};

/** How long an instance leads that says nothing. */
export const leaseMs = 1_000;

/** Short enough that what hangs ends within a request's time, longer than any process is stopped: a stop takes nobody's deadline. */
const processorConfig = {
  deadlines: { first_byte: '10s', idle: '10s', total: '60s', wait: '30s' },
  admission: { max_upstream: 24, max_wait: '30s' },
  negative_cache: { ttl: '1s' },
  drain: '30s',
};
const retry = { max_attempts: 2, backoff: '50ms' };

export async function openSite(leg: Leg, upstream: Upstream, sharesFlights: boolean): Promise<Site> {
  const closing: Closing = [];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-chaos-'));
    closing.push(() => rm(folder, { recursive: true, force: true }));
    const mock = await startMockLlm({ respond: (call) => upstream.respond(call) });
    closing.push(() => mock.close());
    const redis = sharesFlights ? await startRedis() : null;
    if (redis !== null) closing.push(() => redis.end());
    const shared = redis === null ? {} : sharingThrough(redis);
    const open = (name: string): Promise<Instance> =>
      openInstance({ leg, folder: join(folder, name), llm: mock.port, shared }, closing);
    const first = await open('first');
    const fleet = redis === null ? null : { redis, peer: await open('peer') };
    return { leg, mock, ...first, fleet, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Closing = Array<() => Promise<void>>;

/** The budget is one for a busy machine. */
function sharingThrough({ url }: RedisServer): object {
  const key = { secret: 'a-secret-of-the-storm-that-is-long-enough' };
  return { key, redis: { url, lease: `${leaseMs}ms`, budget: '50ms' } };
}

async function openInstance(
  options: { leg: Leg; folder: string; llm: number; shared: object },
  closing: Closing,
): Promise<Instance> {
  const { leg, folder, shared } = options;
  await mkdir(folder);
  const ports = { llm: options.llm, coalescer: await freePort(), ingress: await freePort(), egress: await freePort() };
  const envoy = await openEnvoy({ leg, folder, ports, listener: 'ingress' });
  closing.push(() => envoy.end());
  const egress = leg === 'attached' ? null : await openEnvoy({ leg, folder, ports, listener: 'egress' });
  if (egress !== null) closing.push(() => egress.end());
  const processor = await openProcessor(leg, { folder, ports, shared });
  closing.push(() => processor.end());
  return { url: `http://127.0.0.1:${ports.ingress}`, processor, envoy, egress };
}

/** An Envoy that can be killed and started again on the same ports. */
export class RestartableEnvoy {
  readonly #config: EnvoyConfig;
  readonly #folder: string;
  #process: EnvoyProcess;
  /** Access-log lines are in one file, of all its runs. */
  readonly accessLog = (): ReturnType<EnvoyProcess['accessLog']> => this.#process.accessLog();

  constructor(config: EnvoyConfig, folder: string, process: EnvoyProcess) {
    this.#config = config;
    this.#folder = folder;
    this.#process = process;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Resolves when it has ended. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#process.end();
  }

  /** Starts it anew; resolves when it serves. */
  async start(): Promise<void> {
    this.#process = await runEnvoy(this.#config, this.#folder);
  }

  end(): Promise<void> {
    return this.#process.end();
  }
}

type Ports = { readonly llm: number; readonly coalescer: number; readonly ingress: number; readonly egress: number };

async function openEnvoy(options: {
  leg: Leg;
  folder: string;
  ports: Ports;
  listener: 'ingress' | 'egress';
}): Promise<RestartableEnvoy> {
  const { leg, ports, listener } = options;
  const config = await shippedEnvoyConfig(leg);
  replacePorts(config, ports);
  const { static_resources: resources } = config;
  resources.listeners = resources.listeners.filter(({ name }) => name === listener);
  for (const each of resources.listeners) each.address.socket_address.port_value = ports[listener];
  const manager = connectionManager(config, listener);
  // The judge has to know whose request a call is.
  manager['preserve_external_request_id'] = true;
  if (listener === 'egress') {
    for (const host of manager.route_config.virtual_hosts) {
      host['request_headers_to_add'] = [{ header: { key: egressMark, value: 'egress' } }];
    }
  } else {
    noticeSoon(config);
  }
  const folder = join(options.folder, listener);
  await mkdir(folder);
  return new RestartableEnvoy(config, folder, await runEnvoy(config, folder));
}

/** A decide timeout of 1 s and a keepalive of 2 s + 1 s: a processor that hangs is noticed soon. */
function noticeSoon(config: EnvoyConfig): void {
  for (const { name, typed_config } of connectionManager(config, 'ingress').http_filters) {
    if (name === 'coalesce.decide') typed_config['message_timeout'] = '1s';
  }
  const options = clusterNamed(config, 'coalescer')['typed_extension_protocol_options'] as Record<
    string,
    { explicit_http_config: { http2_protocol_options: { connection_keepalive: object } } }
  >;
  for (const { explicit_http_config } of Object.values(options)) {
    explicit_http_config.http2_protocol_options.connection_keepalive = { interval: '2s', timeout: '1s' };
  }
}

async function runEnvoy(config: EnvoyConfig, folder: string): Promise<EnvoyProcess> {
  // The address of an earlier run would be taken for this one's.
  await rm(join(folder, 'envoy.admin'), { force: true });
  return startEnvoy(config, { folder, version: undefined, concurrency: 2 });
}

async function openProcessor(
  leg: Leg,
  { folder, ports, shared }: { folder: string; ports: Ports; shared: object },
): Promise<ProcessorProcess> {
  const adminPort = await freePort();
  const addresses = { listen: `127.0.0.1:${ports.coalescer}`, admin: `127.0.0.1:${adminPort}` };
  const egress = leg === 'detached' ? { egress: `http://127.0.0.1:${ports.egress}`, retry } : {};
  const config = { ...(await shippedProcessorConfig(leg)), ...processorConfig, ...addresses, ...egress, ...shared };
  return startProcessor(config, { folder, adminPort });
}
