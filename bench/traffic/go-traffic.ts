/** The client and the upstream that are written in Go: orders as command lines, its line of JSON as an outcome. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Order, Outcome } from '../client/orders.ts';
import { cpuSecondsOf } from '../measure/cpu.ts';
import { startPlainProcess } from '../process/plain.ts';
import type { GoTools } from './go-tools.ts';
import type { Traffic } from './traffic.ts';

const execute = promisify(execFile);

/** The longest order, with its connections. */
const ORDER_MS = 120_000;

/** As loadgen prints it; see bench/go/loadgen/main.go. */
type Report = {
  readonly requests: number;
  readonly ok: number;
  readonly wall_s: number;
  readonly cpu_s: number;
  readonly events: number;
  readonly ttft_p50_ms: number;
  readonly ttft_p99_ms: number;
  readonly total_p50_ms: number;
  readonly total_p99_ms: number;
  readonly leader_gap_p99_ms?: number;
  readonly follower_gap_p99_ms?: number;
  readonly upstream: { readonly calls: number };
};

export async function startGoTraffic(tools: GoTools): Promise<Traffic> {
  const upstream = await startPlainProcess(tools.upstream, (port) => ['-listen', `127.0.0.1:${port}`]);
  let clientSeconds = 0;
  return {
    upstreamPort: upstream.port,
    client: 'Go',
    carryOut: async (order) => {
      const args = ['-url', order.url, '-upstream', `http://127.0.0.1:${upstream.port}`, ...argumentsOf(order)];
      const { stdout } = await execute(tools.loadgen, args, { timeout: ORDER_MS, maxBuffer: 1 << 26 });
      const report = JSON.parse(stdout) as Report;
      clientSeconds += report.cpu_s;
      return outcomeOf(report);
    },
    cpuSeconds: async () => (await cpuSecondsOf(upstream.pid)) + clientSeconds,
    end: () => upstream.end(),
  };
}

/** Every run has a nonce of its own in its prompts, so the order's label is not needed. */
function argumentsOf(order: Order): string[] {
  const stream = ['-stream', '-timeout', '60s'];
  const base = ['-tokens', String(order.tokens)];
  switch (order.kind) {
    case 'burst':
      return [...base, ...stream, '-mode', 'burst', '-keys', '1', '-dup', String(order.callers), ...paceOf(order)];
    case 'gaps': {
      const callers = ['-mode', 'burst', '-keys', '1', '-dup', String(order.followers + 1), '-lead-ms', '200'];
      return [...base, ...stream, ...callers, ...paceOf(order)];
    }
    case 'requests':
      return [...base, ...closed(order.connections, order.durationMs), ...(order.isOptedOut ? ['-opt-out'] : [])];
    case 'streams': {
      const requests = ['-requests', String(order.connections * order.waves)];
      return [...base, ...stream, ...closed(order.connections, 20_000), ...requests];
    }
    case 'open': {
      const rate = ['-mode', 'open', '-rate', String(order.rate), '-duration', `${order.durationMs}ms`];
      const shape = ['-conns', '400', '-dup-ratio', String(order.duplicates), ...paceOf(order)];
      return [...base, ...rate, ...shape, ...(order.isStream ? stream : [])];
    }
  }
}

function closed(connections: number, durationMs: number): string[] {
  return ['-mode', 'closed', '-conns', String(connections), '-duration', `${durationMs}ms`];
}

function paceOf({ gapMs, firstMs = 0 }: { gapMs: number; firstMs?: number }): string[] {
  return ['-delay-ms', String(gapMs), '-first-ms', String(firstMs)];
}

function outcomeOf(report: Report): Outcome {
  return {
    calls: report.requests,
    failed: report.requests - report.ok,
    upstreamCalls: report.upstream.calls,
    reads: undefined,
    chunks: report.events,
    wallMs: report.wall_s * 1000,
    firstByteP50Ms: report.ttft_p50_ms,
    firstByteP99Ms: report.ttft_p99_ms,
    totalP50Ms: report.total_p50_ms,
    totalP99Ms: report.total_p99_ms,
    firstCallerGapP99Ms: report.leader_gap_p99_ms,
    laterCallersGapP99Ms: report.follower_gap_p99_ms,
  };
}
