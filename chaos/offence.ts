/** All that is known about a request that ended as none should, for whoever looks for the cause. */
import { digestOf } from './answers.ts';
import type { Asked, Evidence, Verdict } from './judge.ts';
import type { Site } from './site.ts';

export async function offenceReport(
  { asked, verdict }: { asked: Asked; verdict: Verdict },
  evidence: Evidence,
  site: Site,
): Promise<string> {
  const { exchange } = asked;
  const [fromMs, toMs] = [exchange.startedAtMs, exchange.endedAtMs ?? Infinity];
  const at = (ms: number | undefined): string => (ms === undefined ? '…' : `${Math.round(ms - fromMs)} ms`);
  const calls = [...evidence.records.values()].filter(
    (record) => record.digest === digestOf(asked.question) && (record.endedAtMs() ?? toMs) >= fromMs - 10_000,
  );
  const outages = evidence.outages.filter((outage) => outage.toMs >= fromMs - 5_000 && outage.fromMs <= toMs);
  const access = (await site.envoy.accessLog()).filter((line) => line['request_id'] === asked.id);
  const flights = new Set(access.map((line) => line['flight']).filter((flight) => typeof flight === 'string'));
  const lines = (await site.processor.log()).filter((line) => flights.has(line['flight'] as string));
  return [
    `${verdict.kind}: ${verdict.why}`,
    `  request ${asked.id} ${JSON.stringify(asked.question)}`,
    `  status ${exchange.status}, head after ${at(exchange.headAtMs)}, ${exchange.ending} (${exchange.error ?? '-'}) after ${at(exchange.endedAtMs)}, ${exchange.body.length} bytes, lag ${asked.lagMs} ms`,
    `  headers ${JSON.stringify(exchange.headers)}`,
    `  body ${JSON.stringify(exchange.body.subarray(0, 200).toString())} … ${JSON.stringify(exchange.body.subarray(-100).toString())}`,
    ...calls.map(
      (call) =>
        `  call ${call.id} of ${call.requestId}${call.viaEgress ? ' by the egress' : ''}: ${call.status}, ${call.fault ?? 'whole'}, ${at(call.startedAtMs)} to ${at(call.endedAtMs())}`,
    ),
    ...outages.map(
      ({ target, act, fromMs: from, toMs: to }) =>
        `  ${target}: ${act}, ${at(from)} to ${at(Number.isFinite(to) ? to : undefined)}`,
    ),
    ...access.map((line) => `  access log ${JSON.stringify(line)}`),
    ...lines.slice(-8).map((line) => `  processor ${JSON.stringify(line)}`),
  ].join('\n');
}
