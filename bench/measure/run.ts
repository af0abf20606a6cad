/**
 * One run: an order to the client against a target, with what the client saw, the upstream counted and the processes used. It owns the bench's
 * processes and their end.
 */
import process from 'node:process';
import type { Order, Outcome } from '../client/orders.ts';
import { type BenchProcess, startBenchProcess } from '../process/child.ts';
import { cpuSecondsOf, cpuSecondsOfMachine } from './cpu.ts';
import { type Target, targetNames, startTarget } from './targets.ts';

export type Run = {
  readonly outcome: Outcome;
  readonly upstreamCalls: number;
  /** CPU seconds during the run. */
  readonly cpu: {
    readonly envoy: number;
    readonly processor: number | undefined;
  };
  /** Cores that were busy with what is no part of the bench, on average. */
  readonly otherCores: number;
};

export type Rig = {
  readonly targets: readonly Target[];
  run(target: Target, order: Order): Promise<Run>;
  /** Ends all processes, by pid. */
  close(): Promise<void>;
};

type Processes = {
  readonly client: BenchProcess<Order, Outcome>;
  readonly upstream: BenchProcess<object, number>;
};

/** Starts client, upstream and targets. `told` hears what is started. */
export async function startRig(options: { maxWaiters: number; told: (what: string) => void }): Promise<Rig> {
  const closing: Array<() => Promise<void>> = [];
  const close = async (): Promise<void> => {
    // Together, so that one that fails leaves no other running.
    const ended = await Promise.allSettled(closing.splice(0).map((step) => step()));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  };
  const keep = <Part extends { close?: () => Promise<void>; end?: () => Promise<void> }>(part: Part): Part => {
    closing.push(async () => (part.close ?? part.end)?.());
    return part;
  };
  try {
    const client = keep(await startBenchProcess<Order, Outcome>('client-process.js'));
    const upstream = keep(await startBenchProcess<object, number>('upstream-process.js'));
    const noop = keep(await startBenchProcess<object, null>('noop-process.js'));
    const neighbours = { upstreamPort: upstream.port, noop, maxWaiters: options.maxWaiters };
    const targets: Target[] = [];
    for (const name of targetNames) {
      options.told(`starting ${name}`);
      targets.push(keep(await startTarget(name, neighbours)));
    }
    return { targets, run: (target, order) => run({ client, upstream }, target, order), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function run(processes: Processes, target: Target, order: Order): Promise<Run> {
  await target.settle();
  await processes.upstream.ask({});
  const before = await readCpu(processes, target);
  const startedAtMs = performance.now();
  const outcome = await processes.client.ask(order);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const after = await readCpu(processes, target);
  const machine = after.machine - before.machine;
  const own = after.own - before.own;
  return {
    outcome,
    upstreamCalls: await processes.upstream.ask({}),
    cpu: {
      envoy: after.envoy - before.envoy,
      processor: after.processor === undefined ? undefined : after.processor - (before.processor ?? 0),
    },
    otherCores: Math.max(0, (machine - own) / seconds),
  };
}

type CpuReading = {
  readonly envoy: number;
  readonly processor: number | undefined;
  /** Of everything that takes part. */
  readonly own: number;
  readonly machine: number;
};

async function readCpu({ client, upstream }: Processes, target: Target): Promise<CpuReading> {
  const envoy = await cpuSecondsOf(target.envoyPid);
  const processor = target.processorPid === undefined ? undefined : await cpuSecondsOf(target.processorPid);
  let own = envoy + (processor ?? 0);
  for (const pid of [client.pid, upstream.pid, process.pid]) own += await cpuSecondsOf(pid);
  return { envoy, processor, own, machine: await cpuSecondsOfMachine() };
}
