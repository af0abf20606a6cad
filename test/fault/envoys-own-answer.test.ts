/** Answers that Envoy makes itself behind the coalescer: each is its caller's alone, and another caller leads. */
import { describe, expect, test } from 'vitest';
import { connectionManager, type EnvoyConfig, type HttpFilter } from '../../harness/stack.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { callInOrder } from './callers.ts';

describe('a route timeout', () => {
  const shared = new SharedStack({ leg: 'attached', mutateEnvoy: (config) => shortenRoute(config) });

  test('is the leader’s: the first who waits leads in its place, and the others share its answer', async () => {
    shared.answerWith((call) => (shared.calls.indexOf(call) === 0 ? { hang: 'head' } : {}));
    const [leader, ...others] = await allDone(await callInOrder(shared.stack, 'slow route', 4));
    expect(leader?.status).toBe(504);
    expectWhole(others, shared.calls[1]);
    expect(shared.calls).toHaveLength(2);
    expect(await shared.counted('coalesce_promotions_total')).toBe(1);
    expect(await shared.counted('coalesce_flight_endings_total{ending="landed"}')).toBe(1);
  });

  test('of nobody but a leader ends its flight', async () => {
    shared.answerWith({ hang: 'head' });
    const [leader] = await allDone(await callInOrder(shared.stack, 'slow and alone', 1));
    expect(leader?.status).toBe(504);
    expect(await shared.counted('coalesce_flight_endings_total{ending="failed_status"}')).toBe(1);
  });
});

describe('a rate limit behind the coalescer', () => {
  const shared = new SharedStack({ leg: 'attached', mutateEnvoy: (config) => limitRate(config) });

  test('refuses each by itself: promoted one at a time, then released', async () => {
    await allDone(await callInOrder(shared.stack, 'takes the only token', 1));
    const exchanges = await allDone(await callInOrder(shared.stack, 'limited', 6));
    expect(exchanges.map(({ status, body }) => [status, body.toString()])).toEqual(
      Array(6).fill([429, 'local_rate_limited']),
    );
    expect(shared.calls).toHaveLength(1);
    expect(await shared.counted('coalesce_promotions_total')).toBe(3);
    expect(await shared.counted('coalesce_flight_endings_total{ending="failed_status"}')).toBe(1);
    // Each asked for itself: the leader, three promoted ones, two released ones.
    expect(await shared.counted('coalesce_upstream_calls_total')).toBe(1 + 6);
  });
});

describe('an upstream that breaks before its answer', () => {
  const shared = new SharedStack({ leg: 'attached' });

  test('fails the leader alone: the next one asks again, and the others share its answer', async () => {
    const pacer = shared.newPacer();
    shared.answerWith((call) => (shared.calls.indexOf(call) === 0 ? { pace: pacer.pace, reset: 'head' } : {}));
    const sent = await callInOrder(shared.stack, 'broken once', 4);
    pacer.openAll();
    const [leader, ...others] = await allDone(sent);
    expect(leader?.status).toBe(503);
    expectWhole(others, shared.calls[1]);
    expect(shared.calls).toHaveLength(2);
  });
});

describe('an upstream’s own 429', () => {
  const shared = new SharedStack({ leg: 'attached' });

  test('is shared with all who wait', async () => {
    const requests = [1, 2, 3].map(() => shared.chat('refused upstream'));
    const exchanges = await allDone(await shared.fly(requests, { status: 429, headers: [['retry-after', '7']] }));
    expectWhole(exchanges, shared.calls[0], 429);
    expect(exchanges.map(({ headers }) => headers['retry-after'])).toEqual(['7', '7', '7']);
    expect(shared.calls).toHaveLength(1);
  });
});

/** Time for others to join, on a busy machine too. */
function shortenRoute(config: EnvoyConfig): void {
  const route = connectionManager(config, 'ingress').route_config.virtual_hosts[0]?.routes[0];
  if (route === undefined) throw new Error('the ingress has no route');
  route['route'] = { cluster: 'llm', timeout: '3s' };
}

/** One token, and a second until it is asked for: time for others to join. */
function limitRate(config: EnvoyConfig): void {
  const manager = connectionManager(config, 'ingress');
  const always = { numerator: 100, denominator: 'HUNDRED' };
  const added: HttpFilter[] = [
    filter('fault', { '@type': typeOf('fault.v3.HTTPFault'), delay: { fixed_delay: '1s', percentage: always } }),
    filter('local_ratelimit', {
      '@type': typeOf('local_ratelimit.v3.LocalRateLimit'),
      stat_prefix: 'limited',
      token_bucket: { max_tokens: 1, tokens_per_fill: 1, fill_interval: '3600s' },
      filter_enabled: { default_value: always },
      filter_enforced: { default_value: always },
    }),
  ];
  manager.http_filters.splice(-1, 0, ...added);
}

function filter(name: string, config: HttpFilter['typed_config']): HttpFilter {
  return { name: `envoy.filters.http.${name}`, typed_config: config };
}

function typeOf(name: string): string {
  return `type.googleapis.com/envoy.extensions.filters.http.${name}`;
}
