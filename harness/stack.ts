/**
 * A whole stack on free ports, for tests, demo and bench: mock LLM, processor and Envoy, with the configurations that we
 * ship. It owns their assembly and their end; each part has its file in stack/.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type MockLlm, type MockOptions, startMockLlm } from './mock-llm.ts';
import {
  type EnvoyConfig,
  type Leg,
  removeFilters,
  replacePorts,
  shippedEnvoyConfig,
  shippedProcessorConfig,
} from './stack/envoy-config.ts';
import { type EnvoyProcess, startEnvoy } from './stack/envoy-process.ts';
import { freePort, type ProcessorProcess, startProcessor } from './stack/processor-process.ts';

export * from './stack/envoy-config.ts';
export type { Exit } from './stack/child.ts';
export type { EnvoyProcess } from './stack/envoy-process.ts';
export type { ProcessorProcess } from './stack/processor-process.ts';

export type StackOptions = {
  readonly leg: Leg;
  /** ENVOY_VERSION, else the current one, unless given. */
  readonly envoyVersion?: string;
  /** Envoy's worker threads; 2 unless given. */
  readonly concurrency?: number;
  /** More command-line arguments for Envoy, as `--drain-time-s`. */
  readonly envoyArgs?: readonly string[];
  /** Options of Node for the processor's process, as `--import`. */
  readonly nodeOptions?: readonly string[];
  /** Merged into the shipped processor configuration, object by object. `listen` and `admin` are the stack's. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Changes the shipped Envoy configuration, after its ports are set. */
  readonly mutateEnvoy?: (config: EnvoyConfig) => void;
  /** False: the same Envoy without both filters, and no processor. */
  readonly filters?: boolean;
  /** False: Envoy has the filters, but nothing listens where the processor should. */
  readonly processor?: boolean;
  /** For the mock LLM. */
  readonly mock?: MockOptions;
  /** A mock LLM that is somebody else's, in the place of one of its own. */
  readonly upstream?: MockLlm;
};

export type Stack = {
  readonly ingress: { readonly host: string; readonly port: number; readonly url: string };
  /** Undefined in the attached leg. */
  readonly egressUrl: string | undefined;
  readonly mock: MockLlm;
  /** Throws where the stack has none. */
  readonly processor: ProcessorProcess;
  readonly envoy: EnvoyProcess;
  /** Where the cluster `coalescer` points, whether anything listens there or not. */
  readonly processorPort: number;
  /** Ends all processes, by pid, and removes their files. */
  close(): Promise<void>;
};

type Closing = Array<() => Promise<void>>;

/** Starts a stack and waits until it is ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const closing: Closing = [];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    return await assemble(options, closing, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Waits until nothing is left in the processor: no flight, waiter, replay byte, queued exchange or gRPC stream. Throws
 * with the values after 5 s.
 */
export async function expectQuiet(stack: Stack): Promise<void> {
  const deadline = performance.now() + 5_000;
  for (;;) {
    const samples = await stack.processor.metrics();
    const values = quietGauges.map((name) => [name, samples.get(name)] as const);
    if (values.every(([, value]) => value === 0)) return;
    if (performance.now() > deadline) {
      const left = values.filter(([, value]) => value !== 0).map(([name, value]) => `${name} ${value ?? 'missing'}`);
      throw new Error(`the processor is not quiet after 5 s: ${left.join(', ')}`);
    }
    await delay(20);
  }
}

const quietGauges = [
  'coalesce_flights',
  'coalesce_waiters',
  'coalesce_replay_bytes',
  'coalesce_queue',
  'coalesce_streams',
];

async function assemble(options: StackOptions, closing: Closing, close: () => Promise<void>): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const mock = options.upstream ?? (await startMockLlm(options.mock));
  if (options.upstream === undefined) closing.push(() => mock.close());
  const processorPort = await freePort();
  const envoy = await startStackEnvoy(options, { folder, llmPort: mock.port, processorPort });
  closing.push(() => envoy.end());
  const egressPort = envoy.ports.get('egress');
  const egressUrl = egressPort === undefined ? undefined : `http://127.0.0.1:${egressPort}`;
  // Envoy connects at the first request, so the processor may come second: it has to know the egress.
  const processor = await startStackProcessor(options, { folder, processorPort, egressUrl });
  if (processor !== undefined) closing.push(() => processor.end());
  const port = envoy.ports.get('ingress') ?? 0;
  return {
    ingress: { host: '127.0.0.1', port, url: `http://127.0.0.1:${port}` },
    egressUrl,
    mock,
    get processor() {
      if (processor === undefined) throw new Error('this stack was started without a processor');
      return processor;
    },
    envoy,
    processorPort,
    close,
  };
}

async function startStackEnvoy(
  options: StackOptions,
  places: { folder: string; llmPort: number; processorPort: number },
): Promise<EnvoyProcess> {
  const config = await shippedEnvoyConfig(options.leg);
  replacePorts(config, { llm: places.llmPort, coalescer: places.processorPort });
  if (options.filters === false) removeFilters(config);
  options.mutateEnvoy?.(config);
  return startEnvoy(config, {
    folder: places.folder,
    version: options.envoyVersion,
    concurrency: options.concurrency ?? 2,
    args: options.envoyArgs ?? [],
  });
}

async function startStackProcessor(
  options: StackOptions,
  places: { folder: string; processorPort: number; egressUrl: string | undefined },
): Promise<ProcessorProcess | undefined> {
  if (options.processor === false || options.filters === false) return undefined;
  const adminPort = await freePort();
  const shipped = await shippedProcessorConfig(options.leg);
  const own = {
    listen: `127.0.0.1:${places.processorPort}`,
    admin: `127.0.0.1:${adminPort}`,
    ...(places.egressUrl === undefined ? {} : { egress: places.egressUrl }),
  };
  const config = merge(merge(shipped, own), options.config ?? {});
  return startProcessor(config, { folder: places.folder, adminPort, nodeOptions: options.nodeOptions });
}

type Members = Readonly<Record<string, unknown>>;

function merge(base: Members, changes: Members): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(changes)) {
    const earlier = merged[name];
    merged[name] = isMembers(earlier) && isMembers(value) ? merge(earlier, value) : value;
  }
  return merged;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
