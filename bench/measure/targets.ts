/**
 * The four targets that are measured side by side, each with an Envoy of its own from the configurations that we ship, all
 * in front of the same upstream. The loads on them are left to plan.ts.
 */
import {
  connectionManager,
  type EnvoyConfig,
  expectQuiet,
  setClusterPort,
  type Stack,
  startStack,
} from '../../harness/stack.ts';

/** In the order of the report. */
export const targetNames = ['Envoy alone', 'no-op ext_proc', 'ours attached', 'ours detached'] as const;
export type TargetName = (typeof targetNames)[number];

export type Target = {
  readonly name: TargetName;
  readonly url: string;
  readonly envoyPid: number;
  readonly processorPid: number | undefined;
  /** Resolves when nothing of an earlier load is left in it. */
  settle(): Promise<void>;
  /** Exchanges that Envoy has passed on because the processor failed or was late. */
  failedOpen(): Promise<number>;
  envoyVersion(): Promise<string>;
  close(): Promise<void>;
};

export type Neighbours = {
  readonly upstreamPort: number;
  readonly noop: { readonly pid: number; readonly port: number };
  /** Callers of one flight that the processor has to allow. */
  readonly maxWaiters: number;
};

/** Starts one of them. */
export async function startTarget(name: TargetName, neighbours: Neighbours): Promise<Target> {
  const stack = await startStackOf(name, neighbours);
  const isOurs = name === 'ours attached' || name === 'ours detached';
  const noopPid = name === 'no-op ext_proc' ? neighbours.noop.pid : undefined;
  return {
    name,
    url: stack.ingress.url,
    envoyPid: stack.envoy.pid,
    processorPid: isOurs ? stack.processor.pid : noopPid,
    settle: async () => (isOurs ? expectQuiet(stack) : undefined),
    failedOpen: async () => sum((await stack.envoy.stats('failure_mode_allowed$')).values()),
    envoyVersion: () => envoyVersionOf(stack.envoy.adminUrl),
    close: () => stack.close(),
  };
}

/** As its admin interface tells it: commit, version and more, with slashes between. */
async function envoyVersionOf(adminUrl: string): Promise<string> {
  const answer = (await (await fetch(`${adminUrl}/server_info`)).json()) as { version: string };
  return answer.version.split('/')[1] ?? answer.version;
}

function startStackOf(name: TargetName, { upstreamPort, noop, maxWaiters }: Neighbours): Promise<Stack> {
  const toUpstream = (config: EnvoyConfig): void => setClusterPort(config, 'llm', upstreamPort);
  const config = { limits: { max_waiters: maxWaiters } };
  switch (name) {
    case 'Envoy alone':
      return startStack({ leg: 'attached', filters: false, mutateEnvoy: toUpstream });
    case 'no-op ext_proc':
      return startStack({
        leg: 'attached',
        processor: false,
        mutateEnvoy: (envoy) => {
          toUpstream(envoy);
          useNoop(envoy, noop.port);
        },
      });
    case 'ours attached':
      return startStack({ leg: 'attached', config, mutateEnvoy: toUpstream });
    case 'ours detached':
      return startStack({ leg: 'detached', config, mutateEnvoy: toUpstream });
  }
}

/** The decide filter as we ship it, with another processor; the no-op gives no tickets, so deliver has nothing to do. */
function useNoop(config: EnvoyConfig, port: number): void {
  const manager = connectionManager(config, 'ingress');
  manager.http_filters = manager.http_filters.filter(({ name }) => name !== 'coalesce.deliver');
  setClusterPort(config, 'coalescer', port);
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}
