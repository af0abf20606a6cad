/**
 * The metrics of the public interface, in one Prometheus registry with those of the process. Every label comes from a
 * closed list and starts at 0, so that a rate can be taken from the first event on. Owns no counting rule: who calls,
 * decides what is counted.
 */
import { Counter, Gauge, Histogram, collectDefaultMetrics, type Registry } from 'prom-client';

import { cancellationRoles, flightEndings } from '../coalesce/flight/endings.ts';
import type { CancellationRole, FlightEnding } from '../coalesce/flight/endings.ts';
import { bypassReasons, outcomes, shedReasons } from '../coalesce/request/outcomes.ts';
import type { BypassReason, Outcome, ShedReason } from '../coalesce/request/outcomes.ts';
import { asksForOpenMetrics, createRegistries, shareMetrics, type Registries } from './open-metrics.ts';

/** What there is of everything that must come back to 0. */
export interface Totals {
  readonly flights: number;
  readonly waiters: number;
  readonly replayBytes: number;
  /** Leaders that wait for admission. */
  readonly queue: number;
  /** Open gRPC streams. */
  readonly streams: number;
  /** Of the flight that has been open longest; 0 without one. */
  readonly oldestFlightMs: number;
}

export const lateJoinReasons = ['events', 'bytes', 'age', 'waiters'] as const;
export type LateJoinReason = (typeof lateJoinReasons)[number];

export const shadowVerdicts = ['would_hit', 'same', 'diverged'] as const;
export type ShadowVerdict = (typeof shadowVerdicts)[number];

export const spanDropReasons = ['queue_full', 'export_failed'] as const;
export type SpanDropReason = (typeof spanDropReasons)[number];

export const reloadResults = ['applied', 'refused'] as const;
export type ReloadResult = (typeof reloadResults)[number];

/** What the fleet's table said to a claim: lead, follow, or nothing in time. */
export const redisClaims = ['led', 'followed', 'alone'] as const;
export type RedisClaim = (typeof redisClaims)[number];

/** One Prometheus scrape. */
export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

/** Durations are in milliseconds. `traceId`: of a recorded trace that shows what was measured, for an exemplar; null: none. */
export interface Metrics {
  readonly countDecision: (outcome: Outcome) => void;
  readonly countBypass: (reason: BypassReason) => void;
  /** A join. */
  readonly countHit: () => void;
  /** A flight begun. */
  readonly countMiss: () => void;
  readonly countNoncanonicalJoin: () => void;
  readonly countUpstreamCall: () => void;
  /** An answer replayed from the negative cache. */
  readonly countNegativeHit: () => void;
  readonly countSpansDropped: (reason: SpanDropReason, count: number) => void;
  readonly countReload: (result: ReloadResult) => void;
  readonly countLateJoinRejected: (reason: LateJoinReason) => void;
  readonly countFlightEnding: (ending: FlightEnding) => void;
  readonly countPromotion: () => void;
  readonly countLeaderLost: () => void;
  readonly countCancellation: (role: CancellationRole) => void;
  readonly countShed: (reason: ShedReason) => void;
  readonly countShadow: (verdict: ShadowVerdict) => void;
  readonly countTokensSaved: (tokens: { prompt: number; completion: number }) => void;
  /** In the unit of the configuration's prices. */
  readonly countMoneySaved: (cost: { prompt: number; completion: number }) => void;
  /** Followers of a flight that had any. */
  readonly observeWaitersPerHit: (followers: number) => void;
  readonly observeLeaderLatency: (phase: 'first_byte' | 'total', ms: number, traceId: string | null) => void;
  /** From the join to the first byte. */
  readonly observeFollowerWait: (ms: number, traceId: string | null) => void;
  readonly observeDecision: (ms: number, traceId: string | null) => void;
  /** A write that Redis refused: its writer's lease had gone. */
  readonly countFencedWrite: () => void;
  readonly countRedisClaim: (answer: RedisClaim) => void;
  /** A claim's answer, also one that came too late to count. */
  readonly observeRedisClaim: (ms: number) => void;
  /** Whether Redis is asked; not shown before it is first told, so that without Redis there is nothing to see. */
  readonly setRedisUp: (up: boolean) => void;
  /** `accept`: of the request's header. */
  readonly page: (accept: string) => Promise<MetricsPage>;
}

const latencyBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280];
const waitBuckets = [0.001, 0.005, 0.025, ...latencyBuckets];
const decisionBuckets = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];
const waiterBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** `totals` is asked once per scrape. */
export function createMetrics(totals: () => Totals): Metrics {
  const registries = createRegistries();
  const { plain, openMetrics } = registries;
  collectDefaultMetrics({ register: plain });
  const setGauges = gauges(plain);
  const metrics = { ...countersOf(plain), ...histogramsOf(registries) };
  shareMetrics(registries);
  return {
    ...metrics,
    setRedisUp: redisGauge(registries),
    page: async (accept) => {
      setGauges(totals());
      const registry = asksForOpenMetrics(accept) ? openMetrics : plain;
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

type CounterName = Extract<keyof Metrics, `count${string}`>;
type HistogramName = Extract<keyof Metrics, `observe${string}`>;

function countersOf(registry: Registry): Pick<Metrics, CounterName> {
  const plain = (name: string, help: string): (() => void) => {
    const counter = new Counter({ name, help, registers: [registry] });
    return () => counter.inc();
  };
  return {
    countDecision: labelled(registry, ['coalesce_requests_total', 'Decisions', 'outcome'], outcomes),
    countBypass: labelled(registry, ['coalesce_bypass_total', 'Exchanges left alone', 'reason'], bypassReasons),
    countHit: plain('coalesce_hits_total', 'Joins, counted when they join'),
    countMiss: plain('coalesce_misses_total', 'Flights begun'),
    countNoncanonicalJoin: plain(
      'coalesce_noncanonical_joins_total',
      'Joins whose raw body differed from the leader’s',
    ),
    countUpstreamCall: plain('coalesce_upstream_calls_total', 'Upstream calls really made'),
    countNegativeHit: plain('coalesce_negative_hits_total', 'Answers replayed from the negative cache'),
    countReload: reloadCounter(registry),
    countLateJoinRejected: labelled(
      registry,
      ['coalesce_late_join_rejected_total', 'Joins that a flight no longer took', 'reason'],
      lateJoinReasons,
    ),
    countFlightEnding: labelled(registry, ['coalesce_flight_endings_total', 'Flights ended', 'ending'], flightEndings),
    countPromotion: plain('coalesce_promotions_total', 'Followers that went upstream in place of a lost leader'),
    countLeaderLost: plain('coalesce_leader_lost_total', 'Leaders that left with followers on board'),
    countCancellation: labelled(
      registry,
      ['coalesce_cancellations_total', 'Callers that left', 'role'],
      cancellationRoles,
    ),
    countShed: labelled(registry, ['coalesce_shed_total', 'Exchanges answered 429', 'reason'], shedReasons),
    countShadow: labelled(registry, ['coalesce_shadow_total', 'Verdicts of shadow mode', 'verdict'], shadowVerdicts),
    countTokensSaved: byKind(
      registry,
      'coalesce_tokens_saved_total',
      'The usage that answers tell, times their followers',
    ),
    countMoneySaved: byKind(
      registry,
      'coalesce_money_saved_total',
      'What the tokens saved cost by the configuration’s prices',
    ),
    countSpansDropped: labelled(
      registry,
      ['coalesce_spans_dropped_total', 'Spans of traces that were not sent', 'reason'],
      spanDropReasons,
    ),
    countFencedWrite: plain('coalesce_fenced_writes_total', 'Writes of a stale leader that Redis refused'),
    countRedisClaim: labelled(
      registry,
      ['coalesce_redis_claims_total', 'Keys claimed in Redis', 'answer'],
      redisClaims,
    ),
  };
}

/** A gauge too, since a refused configuration stays wrong until the next one. */
function reloadCounter(registry: Registry): Metrics['countReload'] {
  const count = labelled(
    registry,
    ['coalesce_config_reloads_total', 'Configurations read again', 'result'],
    reloadResults,
  );
  const help = 'Whether what the configuration’s files say is in force: 0 after a refusal';
  const isInForce = new Gauge({ name: 'coalesce_config_last_reload_successful', help, registers: [registry] });
  isInForce.set(1);
  return (result) => {
    count(result);
    isInForce.set(result === 'applied' ? 1 : 0);
  };
}

function byKind(registry: Registry, name: string, help: string): Metrics['countTokensSaved'] {
  const counter = new Counter({ name, help, labelNames: ['kind'], registers: [registry] });
  const [prompt, completion] = [counter.labels('prompt'), counter.labels('completion')];
  for (const child of [prompt, completion]) child.inc(0);
  return (count) => {
    prompt.inc(count.prompt);
    completion.inc(count.completion);
  };
}

function histogramsOf({ plain, openMetrics }: Registries): Pick<Metrics, HistogramName> {
  const histogram = (name: string, help: string, buckets: number[]): Histogram<'trace_id'> => {
    return new Histogram<'trace_id'>({ name, help, buckets, enableExemplars: true, registers: [openMetrics] });
  };
  const waiters = new Histogram({
    name: 'coalesce_waiters_per_hit',
    help: 'Followers per flight that had any',
    buckets: waiterBuckets,
    registers: [plain],
  });
  const wait = histogram('coalesce_follower_wait_seconds', 'From the join to the first byte', waitBuckets);
  const claim = histogram('coalesce_redis_seconds', 'A claim in Redis, until its answer', decisionBuckets);
  const decision = histogram('coalesce_decision_seconds', 'The decision, without Envoy’s share', decisionBuckets);
  const latency = new Histogram<'phase' | 'trace_id'>({
    name: 'coalesce_leader_latency_seconds',
    help: 'From the start of the upstream call',
    labelNames: ['phase'],
    buckets: latencyBuckets,
    enableExemplars: true,
    registers: [openMetrics],
  });
  for (const phase of ['first_byte', 'total']) latency.zero({ phase });
  return {
    observeWaitersPerHit: (followers) => waiters.observe(followers),
    observeLeaderLatency: (phase, ms, traceId) => latency.observe({ labels: { phase }, ...seen(ms, traceId) }),
    observeFollowerWait: (ms, traceId) => wait.observe({ labels: {}, ...seen(ms, traceId) }),
    observeDecision: (ms, traceId) => decision.observe({ labels: {}, ...seen(ms, traceId) }),
    observeRedisClaim: (ms) => claim.observe({ labels: {}, ...seen(ms, null) }),
  };
}

function redisGauge({ plain, openMetrics }: Registries): (up: boolean) => void {
  let gauge: Gauge | null = null;
  const shown = (): Gauge => {
    const made = new Gauge({ name: 'coalesce_redis_up', help: 'Redis answers within its budget', registers: [plain] });
    openMetrics.registerMetric(made);
    return made;
  };
  return (up) => {
    gauge ??= shown();
    gauge.set(up ? 1 : 0);
  };
}

/** The name of the label is the one that Grafana and OpenTelemetry look for. */
function seen(ms: number, traceId: string | null): { value: number; exemplarLabels?: { trace_id: string } } {
  return traceId === null ? { value: ms / 1000 } : { value: ms / 1000, exemplarLabels: { trace_id: traceId } };
}

function gauges(registry: Registry): (totals: Totals) => void {
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] });
  const flights = gauge('coalesce_flights', 'Flights now');
  const waiters = gauge('coalesce_waiters', 'Followers now');
  const replayBytes = gauge('coalesce_replay_bytes', 'Bytes in replay buffers now');
  const queue = gauge('coalesce_queue', 'Leaders that wait for admission now');
  const streams = gauge('coalesce_streams', 'Open gRPC streams now');
  const oldest = gauge('coalesce_oldest_flight_age_seconds', 'Age of the flight that has been open longest');
  return (totals) => {
    oldest.set(totals.oldestFlightMs / 1000);
    flights.set(totals.flights);
    waiters.set(totals.waiters);
    replayBytes.set(totals.replayBytes);
    queue.set(totals.queue);
    streams.set(totals.streams);
  };
}

/** A counter with one label. Its children are made here: each exchange counts several times. */
function labelled<Word extends string>(
  registry: Registry,
  [name, help, label]: readonly [name: string, help: string, label: string],
  words: readonly Word[],
): (word: Word, count?: number) => void {
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] });
  const children = new Map(words.map((word) => [word, counter.labels(word)]));
  for (const child of children.values()) child.inc(0);
  return (word, count = 1) => children.get(word)?.inc(count);
}
