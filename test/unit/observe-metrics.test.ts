import { describe, expect, it } from 'vitest';

import { cancellationRoles, flightEndings } from '../../src/coalesce/flight/endings.ts';
import { bypassReasons, outcomes, shedReasons } from '../../src/coalesce/request/outcomes.ts';
import {
  createMetrics,
  lateJoinReasons,
  redisClaims,
  reloadResults,
  shadowVerdicts,
  spanDropReasons,
} from '../../src/observe/metrics.ts';
import type { Metrics, Totals } from '../../src/observe/metrics.ts';

const nothing: Totals = { flights: 0, waiters: 0, replayBytes: 0, queue: 0, streams: 0, oldestFlightMs: 0 };

/** The samples of one scrape, by their name and labels as printed. */
async function scrape(metrics: Metrics): Promise<Map<string, number>> {
  const { body } = await metrics.page('');
  const samples = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('metrics', () => {
  it('have every word of every closed list at 0 from the start', async () => {
    const samples = await scrape(createMetrics(() => nothing));
    const expected = [
      ...outcomes.map((word) => `coalesce_requests_total{outcome="${word}"}`),
      ...bypassReasons.map((word) => `coalesce_bypass_total{reason="${word}"}`),
      ...lateJoinReasons.map((word) => `coalesce_late_join_rejected_total{reason="${word}"}`),
      ...flightEndings.map((word) => `coalesce_flight_endings_total{ending="${word}"}`),
      ...cancellationRoles.map((word) => `coalesce_cancellations_total{role="${word}"}`),
      ...spanDropReasons.map((word) => `coalesce_spans_dropped_total{reason="${word}"}`),
      ...shedReasons.map((word) => `coalesce_shed_total{reason="${word}"}`),
      ...shadowVerdicts.map((word) => `coalesce_shadow_total{verdict="${word}"}`),
      'coalesce_hits_total',
      'coalesce_misses_total',
      'coalesce_noncanonical_joins_total',
      'coalesce_upstream_calls_total',
      'coalesce_negative_hits_total',
      ...reloadResults.map((word) => `coalesce_config_reloads_total{result="${word}"}`),
      'coalesce_promotions_total',
      'coalesce_tokens_saved_total{kind="prompt"}',
      'coalesce_tokens_saved_total{kind="completion"}',
      'coalesce_leader_lost_total',
      'coalesce_fenced_writes_total',
      ...redisClaims.map((word) => `coalesce_redis_claims_total{answer="${word}"}`),
      'coalesce_redis_seconds_count',
      'coalesce_flights',
      'coalesce_waiters',
      'coalesce_replay_bytes',
      'coalesce_queue',
      'coalesce_streams',
      'coalesce_waiters_per_hit_count',
      'coalesce_follower_wait_seconds_count',
      'coalesce_decision_seconds_count',
      'coalesce_leader_latency_seconds_count{phase="first_byte"}',
      'coalesce_leader_latency_seconds_count{phase="total"}',
    ];
    expect(Object.fromEntries(expected.map((name) => [name, samples.get(name)]))).toEqual(
      Object.fromEntries(expected.map((name) => [name, 0])),
    );
  });

  it('say whether Redis serves only where there is one', async () => {
    const metrics = createMetrics(() => nothing);
    expect((await scrape(metrics)).has('coalesce_redis_up')).toBe(false);
    metrics.setRedisUp(true);
    expect((await scrape(metrics)).get('coalesce_redis_up')).toBe(1);
    metrics.setRedisUp(false);
    expect((await scrape(metrics)).get('coalesce_redis_up')).toBe(0);
  });

  it('count each thing under its own name', async () => {
    const metrics = createMetrics(() => nothing);
    metrics.countDecision('follower');
    metrics.countDecision('follower');
    metrics.countBypass('overload');
    metrics.countHit();
    metrics.countMiss();
    metrics.countNoncanonicalJoin();
    metrics.countUpstreamCall();
    metrics.countLateJoinRejected('age');
    metrics.countFlightEnding('cut');
    metrics.countPromotion();
    metrics.countLeaderLost();
    metrics.countCancellation('queued');
    metrics.countFencedWrite();
    metrics.countRedisClaim('alone');
    metrics.countShed('max_wait');
    metrics.countShadow('would_hit');
    metrics.countTokensSaved({ prompt: 7, completion: 3 });
    const samples = await scrape(metrics);
    const counted = [...samples].filter(([name, value]) => /^coalesce_.*_total/.test(name) && value > 0);
    expect(Object.fromEntries(counted)).toEqual({
      'coalesce_requests_total{outcome="follower"}': 2,
      'coalesce_bypass_total{reason="overload"}': 1,
      coalesce_hits_total: 1,
      coalesce_misses_total: 1,
      coalesce_noncanonical_joins_total: 1,
      coalesce_upstream_calls_total: 1,
      'coalesce_late_join_rejected_total{reason="age"}': 1,
      'coalesce_flight_endings_total{ending="cut"}': 1,
      coalesce_promotions_total: 1,
      coalesce_leader_lost_total: 1,
      'coalesce_cancellations_total{role="queued"}': 1,
      'coalesce_shed_total{reason="max_wait"}': 1,
      'coalesce_shadow_total{verdict="would_hit"}': 1,
      'coalesce_tokens_saved_total{kind="prompt"}': 7,
      'coalesce_tokens_saved_total{kind="completion"}': 3,
      coalesce_fenced_writes_total: 1,
      'coalesce_redis_claims_total{answer="alone"}': 1,
    });
  });

  it('show durations in seconds', async () => {
    const metrics = createMetrics(() => nothing);
    metrics.observeLeaderLatency('total', 1500, null);
    metrics.observeFollowerWait(20, null);
    metrics.observeDecision(0.2, null);
    metrics.observeRedisClaim(3);
    metrics.observeWaitersPerHit(24);
    const samples = await scrape(metrics);
    expect(samples.get('coalesce_leader_latency_seconds_sum{phase="total"}')).toBe(1.5);
    expect(samples.get('coalesce_follower_wait_seconds_sum')).toBe(0.02);
    expect(samples.get('coalesce_decision_seconds_sum')).toBe(0.0002);
    expect(samples.get('coalesce_redis_seconds_sum')).toBe(0.003);
    expect(samples.get('coalesce_decision_seconds_bucket{le="0.00025"}')).toBe(1);
    expect(samples.get('coalesce_waiters_per_hit_sum')).toBe(24);
  });

  it('ask for the totals at each scrape', async () => {
    let totals = nothing;
    const metrics = createMetrics(() => totals);
    totals = { flights: 1, waiters: 2, replayBytes: 3, queue: 4, streams: 5, oldestFlightMs: 6_500 };
    const full = await scrape(metrics);
    const names = ['flights', 'waiters', 'replay_bytes', 'queue', 'streams', 'oldest_flight_age_seconds'];
    expect(names.map((name) => full.get(`coalesce_${name}`))).toEqual([1, 2, 3, 4, 5, 6.5]);
    totals = nothing;
    const empty = await scrape(metrics);
    expect(names.map((name) => empty.get(`coalesce_${name}`))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('say whether what the configuration’s files say is in force', async () => {
    const metrics = createMetrics(() => nothing);
    const inForce = async (): Promise<unknown> => (await scrape(metrics)).get('coalesce_config_last_reload_successful');
    expect(await inForce()).toBe(1);
    metrics.countReload('refused');
    expect(await inForce()).toBe(0);
    metrics.countReload('applied');
    expect(await inForce()).toBe(1);
  });

  it('hold those of the process too, and are each process’s own', async () => {
    const first = createMetrics(() => nothing);
    const second = createMetrics(() => nothing);
    first.countHit();
    expect((await scrape(second)).get('coalesce_hits_total')).toBe(0);
    expect((await scrape(first)).get('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect((await first.page('*/*')).contentType).toContain('text/plain');
  });
});
