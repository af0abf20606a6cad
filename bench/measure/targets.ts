/**
 * What is measured side by side, all in front of the same upstream: Envoys with the configurations that we ship, with ours,
 * no-op or no filters, and Varnish. The loads on them are left to loads/.
 */
import { type EnvoyConfig, expectQuiet, setClusterPort, type Stack, startStack } from '../../harness/stack.ts';
import { type NoopMode, useNoop } from './noop-filters.ts';
import { startVarnish } from './varnish.ts';

/** In the order of the report. */
export const targetNames = [
  'direct',
  'Envoy alone',
  'no-op headers',
  'no-op attached',
  'no-op immediate',
  'no-op on grpc-js',
  'no-op on node:http2',
  'ours attached',
  'ours detached',
  'Varnish',
] as const;
export type TargetName = (typeof targetNames)[number];

/** What each of them is, for the report. */
export const targetTexts: Readonly<Record<TargetName, string>> = {
  direct: 'the upstream without anything before it',
  'Envoy alone': 'the shipped configuration without our two filters',
  'no-op headers': 'one ext_proc filter that sees the request’s headers, before a processor in Go that changes nothing',
  'no-op attached':
    'the same, in the modes of an attached leader: request body buffered; response head, body (streamed) and trailers sent',
  'no-op immediate': 'the same, but the processor reads the request and answers it itself, as deliver does',
  'no-op on grpc-js': 'as “no-op attached”, before a processor on grpc-js',
  'no-op on node:http2': 'the same without grpc-js: what a processor in Node costs at least',
  'ours attached': '`envoy.attached.yaml` with `coalescer.attached.yaml`',
  'ours detached': '`envoy.yaml` with `coalescer.yaml`',
  Varnish: 'Varnish 7 that coalesces POST by body (bench/varnish)',
};

export type Target = {
  readonly name: TargetName;
  readonly url: string;
  /** Processes of the proxy itself, and of the processor behind it. Asked anew: a restart changes them. */
  readonly pids: () => { readonly proxy: readonly number[]; readonly processor: number | undefined };
  /** Resolves when nothing of an earlier load is left in it. */
  readonly settle: () => Promise<void>;
  /** A new processor process, for what is measured cold. */
  readonly restart: () => Promise<void>;
  /** Samples of the processor's metrics; empty where it has none. */
  readonly metrics: () => Promise<ReadonlyMap<string, number>>;
  /** Exchanges that Envoy has passed on because the processor failed or was late. */
  readonly failedOpen: () => Promise<number>;
  readonly close: () => Promise<void>;
};

/** In Go by their modes; on Node in the mode of an attached leader, by what they are built on. */
type Noop = NoopMode | 'grpc-js' | 'node:http2';

export type Neighbours = {
  readonly upstreamPort: number;
  readonly noops: ReadonlyMap<Noop, { readonly pid: number; readonly port: number }>;
  /** Callers of one flight that the processor has to allow. */
  readonly maxWaiters: number;
};

/** Starts one of them; null where what it needs is not there. */
export async function startTarget(name: TargetName, neighbours: Neighbours): Promise<Target | null> {
  if (name === 'direct') return plainTarget(name, { port: neighbours.upstreamPort, pid: null });
  if (name === 'Varnish') {
    const varnish = await startVarnish(neighbours.upstreamPort);
    return varnish === null ? null : { ...plainTarget(name, varnish), close: varnish.end };
  }
  const mode = noopOf(name);
  const noop = mode === null ? undefined : neighbours.noops.get(mode);
  if (mode !== null && noop === undefined) return null;
  const stack = await startStackOf(name, neighbours);
  return stackTarget(name, stack, noop?.pid);
}

function stackTarget(name: TargetName, stack: Stack, noopPid: number | undefined): Target {
  const isOurs = name === 'ours attached' || name === 'ours detached';
  return {
    name,
    url: stack.ingress.url,
    pids: () => ({ proxy: [stack.envoy.pid], processor: isOurs ? stack.processor.pid : noopPid }),
    settle: () => (isOurs ? expectQuiet(stack) : Promise.resolve()),
    restart: () => (isOurs ? stack.processor.restart() : Promise.resolve()),
    metrics: () => (isOurs ? stack.processor.metrics() : Promise.resolve(new Map())),
    failedOpen: async () => sum((await stack.envoy.stats('failure_mode_allowed$')).values()),
    close: () => stack.close(),
  };
}

function plainTarget(name: TargetName, { port, pid }: { port: number; pid: number | null }): Target {
  const nothing = (): Promise<void> => Promise.resolve();
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    pids: () => ({ proxy: pid === null ? [] : [pid], processor: undefined }),
    settle: nothing,
    restart: nothing,
    metrics: () => Promise.resolve(new Map()),
    failedOpen: () => Promise.resolve(0),
    close: nothing,
  };
}

function noopOf(name: TargetName): Noop | null {
  switch (name) {
    case 'no-op headers':
      return 'headers';
    case 'no-op attached':
      return 'attached';
    case 'no-op immediate':
      return 'immediate';
    case 'no-op on grpc-js':
      return 'grpc-js';
    case 'no-op on node:http2':
      return 'node:http2';
    default:
      return null;
  }
}

function startStackOf(name: TargetName, { upstreamPort, noops, maxWaiters }: Neighbours): Promise<Stack> {
  const toUpstream = (config: EnvoyConfig): void => setClusterPort(config, 'llm', upstreamPort);
  const config = { limits: { max_waiters: maxWaiters } };
  if (name === 'ours attached') return startStack({ leg: 'attached', config, mutateEnvoy: toUpstream });
  if (name === 'ours detached') return startStack({ leg: 'detached', config, mutateEnvoy: toUpstream });
  const mode = noopOf(name);
  if (mode === null) return startStack({ leg: 'attached', filters: false, mutateEnvoy: toUpstream });
  return startStack({
    leg: 'attached',
    processor: false,
    mutateEnvoy: (envoy) => {
      toUpstream(envoy);
      useNoop(envoy, mode === 'grpc-js' || mode === 'node:http2' ? 'attached' : mode, noops.get(mode)?.port ?? 0);
    },
  });
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}
