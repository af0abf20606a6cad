/** What the flight table tells, as metrics and log lines. */

import type { Fact, FlightReport } from '../coalesce/table/effects.ts';
import type { Comparison } from '../coalesce/shadow/comparison.ts';
import type { ExchangeId } from '../coalesce/flight/flight.ts';
import type { Config } from '../config/definition.ts';
import { costOf } from '../config/prices.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Tracing } from '../observe/tracing/open-tracing.ts';

interface Sinks {
  readonly metrics: Metrics;
  readonly log: Log;
  /** Null: off. */
  readonly tracing: Tracing | null;
  /** Of the recorded trace that an exchange is in; null: none. */
  readonly traceIdOf: (exchange: ExchangeId) => string | null;
  readonly now: () => number;
  readonly config: Pick<Config, 'prices'>;
}

export function countFact(fact: Fact, sinks: Sinks): void {
  const { metrics, tracing } = sinks;
  switch (fact.kind) {
    case 'missed':
      return metrics.countMiss();
    case 'hit':
      metrics.countHit();
      if (fact.canonicalOnly) metrics.countNoncanonicalJoin();
      return;
    case 'negativeHit':
      return metrics.countNegativeHit();
    case 'upstreamCalled':
      return metrics.countUpstreamCall();
    case 'firstByteCame':
      tracing?.flights.answerBegan(fact.flight, sinks.now());
      return metrics.observeLeaderLatency('first_byte', fact.afterMs, tracing?.flights.traceIdOf(fact.flight) ?? null);
    case 'answerCompleted':
      return metrics.observeLeaderLatency('total', fact.afterMs, tracing?.flights.traceIdOf(fact.flight) ?? null);
    case 'followerServed':
      return metrics.observeFollowerWait(fact.waitedMs, sinks.traceIdOf(fact.exchange));
    case 'lateJoinRejected':
      return metrics.countLateJoinRejected(fact.reason);
    case 'promoted':
      return metrics.countPromotion();
    case 'leaderLost':
      return metrics.countLeaderLost();
    case 'callerLeft':
      return metrics.countCancellation(fact.role);
    case 'shed':
      return metrics.countShed(fact.reason);
    case 'wouldHit':
      return metrics.countShadow('would_hit');
    case 'compared':
      return compared(fact.comparison, sinks);
    case 'tokensSaved':
      metrics.countTokensSaved(fact);
      return metrics.countMoneySaved(costOf(sinks.config.prices, fact));
    case 'invariantBroken':
      return sinks.log.internalError(fact.error);
    case 'flightEnded':
      return flightEnded(fact.report, sinks);
  }
}

function flightEnded(report: FlightReport, sinks: Sinks): void {
  sinks.tracing?.flights.ended(report, sinks.now());
  sinks.metrics.countFlightEnding(report.ending);
  if (report.followers > 0) sinks.metrics.observeWaitersPerHit(report.followers);
  sinks.log.flightEnded({
    flight: report.id,
    key8: report.key8,
    leg: report.leg,
    fleet: report.fleet,
    fleetFlight: report.fleetFlight,
    ending: report.ending,
    status: report.status === null ? null : Number(report.status),
    bytes: report.bytes,
    promptTokens: report.tokens?.prompt ?? null,
    completionTokens: report.tokens?.completion ?? null,
    followers: report.followers,
    promotions: report.promotions,
    attempts: report.attempts,
    queuedMs: report.queuedMs,
    firstByteMs: report.firstByteMs,
    durationMs: report.ageMs,
  });
}

function compared(comparison: Comparison, { metrics, log }: Sinks): void {
  const { verdict, flight, key8, model, route, policy } = comparison;
  if (verdict !== 'none') metrics.countShadow(verdict);
  log.answersCompared({
    ...{ verdict, flight, key8, model, route, policy },
    difference: verdict === 'diverged' ? comparison.difference : null,
    why: verdict === 'none' ? comparison.why : null,
    promptTokens: verdict === 'none' ? null : comparison.tokens.prompt,
    completionTokens: verdict === 'none' ? null : comparison.tokens.completion,
  });
}
