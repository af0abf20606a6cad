/** The scrape as OpenMetrics: its form, its exemplars, and that the plain scrape knows nothing of it. */
import { describe, expect, test } from 'vitest';

import { createMetrics, type Metrics } from '../../src/observe/metrics.ts';
import { asksForOpenMetrics } from '../../src/observe/open-metrics.ts';

const nothing = { flights: 0, waiters: 0, replayBytes: 0, queue: 0, streams: 0, oldestFlightMs: 0 };
const openMetrics = 'application/openmetrics-text; version=1.0.0';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

function used(): Metrics {
  const metrics = createMetrics(() => nothing);
  metrics.countHit();
  metrics.countSpansDropped('queue_full', 3);
  metrics.observeDecision(0.2, traceId);
  metrics.observeDecision(0.2, null);
  metrics.observeLeaderLatency('total', 1500, traceId);
  metrics.observeFollowerWait(20, traceId);
  return metrics;
}

const own = (body: string): string[] => body.split('\n').filter((line) => line.includes('coalesce_'));

describe('OpenMetrics', () => {
  test('has each exemplar in the bucket that its value fell in', async () => {
    const { body, contentType } = await used().page(openMetrics);
    expect(contentType).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
    const exemplars = body.split('\n').filter((line) => line.includes(' # {'));
    const exemplar = (value: string): RegExp => new RegExp(`# \\{trace_id="${traceId}"\\} ${value} [\\d.]+$`);
    expect(exemplars.map((line) => line.split(' ')[0])).toEqual([
      'coalesce_follower_wait_seconds_bucket{le="0.025"}',
      'coalesce_decision_seconds_bucket{le="0.00025"}',
      'coalesce_leader_latency_seconds_bucket{le="2.5",phase="total"}',
    ]);
    expect(exemplars[0]).toMatch(exemplar('0.02'));
    expect(exemplars[1]).toMatch(exemplar('0.0002'));
    expect(exemplars[2]).toMatch(exemplar('1.5'));
  });

  test('ends with # EOF and has the form of its specification', async () => {
    const { body } = await used().page(openMetrics);
    const lines = body.split('\n');
    expect(lines.slice(-2)).toEqual(['# EOF', '']);
    const types = new Map<string, string>();
    for (const line of lines.slice(0, -2)) {
      const type = /^# TYPE ([a-z_:][\w:]*) (counter|gauge|histogram|summary)$/.exec(line);
      if (type !== null) types.set(type[1] ?? '', type[2] ?? '');
      else if (!line.startsWith('# HELP ')) {
        const sample = /^([a-z_:][\w:]*)(?:\{.*?\})? (?:[-+\d.e]+|\+Inf|nan)(?: # \{.*\} .*)?$/i.exec(line);
        const [name = ''] = sample?.slice(1) ?? [];
        const family = name.replace(/_(?:total|bucket|sum|count)$/, '');
        expect(types.has(family) || types.has(name), line).toBe(true);
        if (types.get(family) === 'counter') expect(name).toBe(`${family}_total`);
      }
    }
    expect(types.get('coalesce_requests')).toBe('counter');
  });

  test('leaves the plain scrape as it is, before, after and beside it', async () => {
    const metrics = used();
    const before = await metrics.page('');
    const [, beside] = await Promise.all([metrics.page(openMetrics), metrics.page('')]);
    const after = await metrics.page('');
    expect(own(beside.body)).toEqual(own(before.body));
    expect(own(after.body)).toEqual(own(before.body));
    expect(before.body).toContain('# TYPE coalesce_requests_total counter');
    expect(before.body).toContain('coalesce_spans_dropped_total{reason="queue_full"} 3');
    expect(before.body).not.toMatch(/ # \{|# EOF/);
  });

  test('has the same values as the plain scrape', async () => {
    const metrics = used();
    const samples = (body: string): string[] =>
      own(body)
        .filter((line) => !line.startsWith('#'))
        .map((line) => line.replace(/ # \{.*/, ''))
        .sort();
    expect(samples((await metrics.page(openMetrics)).body)).toEqual(samples((await metrics.page('')).body));
  });

  test.each([
    ['', false],
    ['*/*', false],
    ['text/plain;version=0.0.4', false],
    [openMetrics, true],
    ['APPLICATION/OpenMetrics-Text', true],
    ['application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2', true],
    ['application/openmetrics-text;q=0.3,text/plain;q=0.5', false],
    ['application/openmetrics-text;q=0', false],
    ['application/openmetrics-text;q=x', false],
    ['application/openmetrics-textual', false],
  ])('is asked for by %j: %j', (accept, asked) => {
    expect(asksForOpenMetrics(accept)).toBe(asked);
  });
});
