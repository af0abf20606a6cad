/** The running service: what listens, in which order it starts and stops. Signals and exit codes are `main.ts`'s. */

import type { BypassReason } from '../coalesce/request/outcomes.ts';
import type { Config } from '../config/definition.ts';
import { printMistake } from '../config/mistakes/mistakes.ts';
import type { ConfigResult } from '../config/read.ts';
import { reconfigured } from '../config/reloading/reconfigured.ts';
import { startAdmin, type Admin, type FlightsPage } from '../observe/admin.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics, type Metrics, type Totals } from '../observe/metrics.ts';
import type { Tracing } from '../observe/tracing/open-tracing.ts';
import { ListenError, startGrpcServer, type GrpcServer } from './grpc/grpc-server.ts';
import { HealthState } from './grpc/health.ts';
import { watchLoopDelay } from './loop-delay.ts';
import { Switchboard } from './switchboard.ts';
import { formatAddress, type Address } from '../config/values/address.ts';

export interface Service {
  /** Takes what was read of the configuration: in force at once for new exchanges, or refused whole. */
  readonly reload: (read: ConfigResult) => void;
  /** Ends new work at once, waits for flights up to `drain`, then stops. Called twice, it waits for the same end. */
  readonly drain: () => Promise<void>;
}

/** How often a draining service looks whether it is done. */
const DRAIN_CHECK_MS = 50;

/** How long Envoy has to take what was written last. */
const CLOSE_GRACE_MS = 1_000;

/** How long a collector has to take the last spans. */
const TRACES_GRACE_MS = 2_000;

/** Starts everything, or throws a `ListenError` with nothing left open. */
export async function startService(options: { config: Config; log: Log; pid: number }): Promise<Service> {
  const { config, log, pid } = options;
  const health = new HealthState();
  const loopDelay = watchLoopDelay();
  const metrics = createMetrics((): Totals => totals());
  const tracing = await tracingOf(config, { metrics, log });
  const board = new Switchboard({ config, metrics, log, tracing });
  const totals = (): Totals => {
    const oldestFlightMs = board.table.oldestAge(board.now());
    return { ...board.totals, streams: board.openExchanges, oldestFlightMs };
  };
  const overloaded = overloadWatch(() => loopDelay.current(), {
    limitMs: () => board.config.limits.maxLoopDelayMs,
    log,
  });
  const bypassAll = (): BypassReason | null => (health.serving ? overloaded() : 'draining');
  const grpc = await startGrpcServer({ board, health, bypassAll });
  const sources = {
    flights: () => flightsPage(board, totals()),
    ready: (): true | string => (health.serving ? true : 'draining'),
    metrics: (accept: string) => metrics.page(accept),
  };
  const { admin, probes } = await listenPages(config, sources).catch(async (error: unknown) => {
    loopDelay.stop();
    await Promise.all([grpc.close(0), board.close(), tracing?.close(0)]);
    throw error;
  });
  log.listening({
    pid,
    listen: grpc.addresses,
    admin: admin.address,
    probes: probes?.address ?? null,
    leg: board.table.leg,
  });
  const stop = async (): Promise<void> => {
    loopDelay.stop();
    await drain({ board, health, grpc, log });
    await Promise.all([admin.close(), probes?.close(), board.close(), tracing?.close(TRACES_GRACE_MS)]);
  };
  let stopping: Promise<void> | null = null;
  return { reload: (read) => reload(board, read, grpc), drain: () => (stopping ??= stop()) };
}

/** The library is loaded where it is used, so that it costs nothing where it is not. */
async function tracingOf({ tracing }: Config, sinks: { metrics: Metrics; log: Log }): Promise<Tracing | null> {
  if (tracing === null) return null;
  const { openTracing } = await import('../observe/tracing/open-tracing.ts');
  return openTracing(tracing, sinks);
}

function reload(board: Switchboard, read: ConfigResult, grpc: GrpcServer): void {
  const { log, metrics } = board;
  if (read.kind === 'mistakes') {
    metrics.countReload('refused');
    log.reloadRefused(read.mistakes.map(printMistake));
    return;
  }
  const { config, kept } = reconfigured(board.config, read.config);
  board.reconfigure(config);
  if (config.tls !== null) grpc.renewCertificates(config.tls);
  metrics.countReload('applied');
  log.configurationReloaded(kept);
  log.setLevel(config.logLevel);
}

function overloadWatch(delay: () => number, options: { limitMs: () => number; log: Log }): () => BypassReason | null {
  let told = false;
  return () => {
    const isOverloaded = delay() > options.limitMs();
    if (isOverloaded && !told) options.log.overloaded(delay());
    told = isOverloaded;
    return isOverloaded ? 'overload' : null;
  };
}

async function listenPages(
  config: Config,
  sources: Parameters<typeof startAdmin>[0]['sources'],
): Promise<{ admin: Admin; probes: Admin | null }> {
  const admin = await listenAdmin(config.admin, { pages: 'all', sources });
  if (config.probes === null) return { admin, probes: null };
  try {
    return { admin, probes: await listenAdmin(config.probes, { pages: 'probes', sources }) };
  } catch (error) {
    await admin.close();
    throw error;
  }
}

async function listenAdmin(
  address: Address,
  options: Omit<Parameters<typeof startAdmin>[0], 'address'>,
): Promise<Admin> {
  try {
    return await startAdmin({ address, ...options });
  } catch (error) {
    throw new ListenError(formatAddress(address), error);
  }
}

async function drain(parts: { board: Switchboard; health: HealthState; grpc: GrpcServer; log: Log }): Promise<void> {
  const { board, health, grpc, log } = parts;
  const startedAt = board.now();
  const { drainMs } = board.config;
  health.stopServing();
  log.drainStarted(board.totals.flights, drainMs);
  while (board.totals.flights > 0 && board.now() - startedAt < drainMs) {
    await new Promise((resolve) => setTimeout(resolve, DRAIN_CHECK_MS));
  }
  log.drainEnded(board.totals.flights, board.now() - startedAt);
  board.breakOffFlights();
  await grpc.close(CLOSE_GRACE_MS);
}

function flightsPage(board: Switchboard, totals: Totals): FlightsPage {
  const flights = board.table.lines(board.now()).map((line) => ({
    id: line.id,
    key8: line.key8,
    leg: line.leg,
    phase: line.phase,
    fleet: line.fleet,
    age_ms: Math.round(line.ageMs),
    waiters: line.waiters,
    bytes: line.bytes,
    model: line.model,
    policy: line.policy,
  }));
  const { waiters, queue, streams } = totals;
  return { flights, totals: { flights: totals.flights, waiters, replay_bytes: totals.replayBytes, queue, streams } };
}
