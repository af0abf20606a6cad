/**
 * One run: an order to the client against a target, with what the client saw and what the processes used. It owns the bench's
 * processes and their end.
 */
import process from 'node:process';
import type { Order, Outcome } from '../client/orders.ts';
import { startBenchProcess } from '../process/child.ts';
import { startPlainProcess } from '../process/plain.ts';
import type { GoTools } from '../traffic/go-tools.ts';
import { startGoTraffic } from '../traffic/go-traffic.ts';
import { startNodeTraffic } from '../traffic/node-traffic.ts';
import type { Traffic } from '../traffic/traffic.ts';
import { cpuSecondsOf, cpuSecondsOfFamily, cpuSecondsOfMachine, residentBytesOf } from './cpu.ts';
import { type Neighbours, startTarget, type Target, type TargetName } from './targets.ts';

export type Run = {
  readonly outcome: Outcome;
  /** CPU seconds during the run. */
  readonly cpu: { readonly proxy: number; readonly processor: number | undefined };
  /** By how much the processor's resident memory was larger at its peak than before, in bytes. */
  readonly processorGrowth: number;
  /** 99th percentile of the processor's event-loop readings, in ms; an idle loop reads about 10. */
  readonly loopDelayP99Ms: number | undefined;
  /** Exchanges that Envoy passed on without an answer of the processor. */
  readonly failedOpen: number;
  /** Cores that were busy with what is no part of the bench, on average. */
  readonly otherCores: number;
};

export type Rig = {
  readonly client: Traffic['client'];
  readonly targets: readonly Target[];
  readonly run: (target: Target, order: Order) => Promise<Run>;
  /** Ends all processes, by pid. */
  readonly close: () => Promise<void>;
};

export type RigOptions = {
  readonly tools: GoTools | null;
  readonly targets: readonly TargetName[];
  readonly maxWaiters: number;
  /** Hears what is started, and what is left out. */
  readonly told: (what: string) => void;
};

/** Starts client, upstream and targets. */
export async function startRig(options: RigOptions): Promise<Rig> {
  const closing: Array<() => Promise<void>> = [];
  const close = async (): Promise<void> => {
    // Together, so that one that fails leaves no other running.
    const ended = await Promise.allSettled(closing.splice(0).map((step) => step()));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  };
  try {
    const traffic = options.tools === null ? await startNodeTraffic() : await startGoTraffic(options.tools);
    closing.push(() => traffic.end());
    const noops = await startNoops(options.tools, closing);
    const neighbours = { upstreamPort: traffic.upstreamPort, noops, maxWaiters: options.maxWaiters };
    const targets: Target[] = [];
    for (const name of options.targets) {
      const target = await startTarget(name, neighbours);
      options.told(target === null ? `${name} is left out: it is not installed` : `started ${name}`);
      if (target === null) continue;
      closing.push(() => target.close());
      targets.push(target);
    }
    const run: Rig['run'] = (target, order) => measure(traffic, target, order);
    return { client: traffic.client, targets, run, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startNoops(tools: GoTools | null, closing: Array<() => Promise<void>>): Promise<Neighbours['noops']> {
  const onNode = await startBenchProcess<object, null>('noop-process.js');
  closing.push(() => onNode.end());
  const bare = await startBenchProcess<object, null>('bare-noop-process.js');
  closing.push(() => bare.end());
  const nodes = [
    ['grpc-js', onNode],
    ['node:http2', bare],
  ] as const;
  if (tools === null) return new Map(nodes);
  const plain = await startPlainProcess(tools.noop, (port) => ['-listen', `127.0.0.1:${port}`]);
  closing.push(() => plain.end());
  const immediate = await startPlainProcess(tools.noop, (port) => ['-listen', `127.0.0.1:${port}`, '-immediate']);
  closing.push(() => immediate.end());
  return new Map([...nodes, ['headers', plain], ['attached', plain], ['immediate', immediate]]);
}

async function measure(traffic: Traffic, target: Target, order: Order): Promise<Run> {
  await target.settle();
  // Each reading of the metrics begins a new period for the event loop's delay.
  await target.metrics();
  const openBefore = await target.failedOpen();
  const before = await readCpu(traffic, target);
  const growth = watchGrowth(target.pids().processor);
  const startedAtMs = performance.now();
  const outcome = await traffic.carryOut(order);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const after = await readCpu(traffic, target);
  const lag = (await target.metrics()).get('nodejs_eventloop_lag_p99_seconds');
  return {
    outcome,
    cpu: {
      proxy: after.proxy - before.proxy,
      processor: after.processor === undefined ? undefined : after.processor - (before.processor ?? 0),
    },
    processorGrowth: await growth.stop(),
    loopDelayP99Ms: lag === undefined ? undefined : lag * 1000,
    failedOpen: (await target.failedOpen()) - openBefore,
    otherCores: Math.max(0, (after.machine - before.machine - (after.own - before.own)) / seconds),
  };
}

const GROWTH_INTERVAL_MS = 50;

/** Looks at a process's memory until stopped. */
function watchGrowth(pid: number | undefined): { readonly stop: () => Promise<number> } {
  if (pid === undefined) return { stop: () => Promise.resolve(Number.NaN) };
  const samples: Array<Promise<number>> = [residentBytesOf(pid)];
  const timer = setInterval(() => void samples.push(residentBytesOf(pid)), GROWTH_INTERVAL_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      const [first = Number.NaN, ...later] = await Promise.all(samples);
      return Math.max(0, ...later.map((bytes) => bytes - first));
    },
  };
}

type CpuReading = {
  readonly proxy: number;
  readonly processor: number | undefined;
  /** Of everything that takes part. */
  readonly own: number;
  readonly machine: number;
};

async function readCpu(traffic: Traffic, target: Target): Promise<CpuReading> {
  const pids = target.pids();
  let proxy = 0;
  for (const pid of pids.proxy) proxy += await cpuSecondsOfFamily(pid);
  const processor = pids.processor === undefined ? undefined : await cpuSecondsOf(pids.processor);
  const own = proxy + (processor ?? 0) + (await traffic.cpuSeconds()) + (await cpuSecondsOf(process.pid));
  return { proxy, processor, own, machine: await cpuSecondsOfMachine() };
}
