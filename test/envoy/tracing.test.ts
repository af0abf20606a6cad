/** What a collector gets of the calls through a real Envoy, and which trace the upstream is told of. */
import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { begin, send } from '../../harness/http-client.ts';
import { connectionManager } from '../../harness/stack.ts';
import { Collector, type SeenSpan } from '../support/collector.ts';
import { allDone, SharedStack } from '../support/shared-stack.ts';

const collector = await Collector.start();
afterAll(() => collector.close());

interface Caller {
  readonly traceId: string;
  readonly spanId: string;
  readonly headers: { readonly traceparent: string; readonly tracestate: string };
}

/** `flags`: 01 is recorded, 00 is not. */
function caller(flags = '01'): Caller {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: 'vendor=opaque' } };
}

const is =
  (name: string, traceId: string) =>
  (span: SeenSpan): boolean =>
    span.name === `coalesce.${name}` && span.traceId === traceId;
const idOf = (span: SeenSpan | undefined): unknown => ({ traceId: span?.traceId, spanId: span?.spanId });
/** Its spans go nowhere: what is looked at is which trace it tells of. */
const envoysOwn = {
  random_sampling: { value: 100 },
  provider: {
    name: 'envoy.tracers.opentelemetry',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig',
      service_name: 'gateway',
      http_service: { http_uri: { uri: 'http://127.0.0.1:1/v1/traces', cluster: 'coalescer', timeout: '1s' } },
    },
  },
};

const body = { stream: true, stream_options: { include_usage: true } };
const prompt = 'a prompt that no collector may see';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({
    leg,
    config: { tracing: { endpoint: collector.endpoint, service_name: 'edge' } },
  });

  test('a decision each, one flight below the first caller, and followers that are linked to it', async () => {
    const [first, second] = [caller(), caller()];
    const requests = [first, second].map(({ headers }) => shared.chat(prompt, { body, headers }));
    await allDone(await shared.fly(requests, { tokens: 4 }));
    const [decided, flight, joined, delivered] = await collector.waitFor(
      is('decide', first.traceId),
      is('flight', first.traceId),
      is('decide', second.traceId),
      is('deliver', second.traceId),
    );
    expect(decided).toMatchObject({
      parentSpanId: first.spanId,
      traceState: 'vendor=opaque',
      service: 'edge',
      attributes: { 'coalesce.outcome': 'leader', 'coalesce.policy': 'default' },
    });
    expect(decided?.attributes['coalesce.key8']).toMatch(/^[0-9a-f]{8}$/);
    expect(flight).toMatchObject({
      parentSpanId: first.spanId,
      events: ['first_byte'],
      attributes: {
        'coalesce.leg': leg,
        'coalesce.ending': 'landed',
        'coalesce.waiters': 1,
        'coalesce.attempts': 1,
        'coalesce.bytes': Buffer.concat(shared.calls[0]?.sent ?? []).length,
        'gen_ai.request.model': 'mock-1',
        'gen_ai.usage.output_tokens': 4,
        'http.response.status_code': 200,
      },
    });
    expect(flight?.status.code).not.toBe(2);
    expect(joined).toMatchObject({
      parentSpanId: second.spanId,
      links: [idOf(flight)],
      attributes: { 'coalesce.outcome': 'follower', 'coalesce.flight': flight?.attributes['coalesce.flight'] },
    });
    expect(delivered).toMatchObject({
      parentSpanId: second.spanId,
      links: [idOf(flight)],
      attributes: { 'coalesce.role': 'follower', 'coalesce.ending': 'followed', 'http.response.status_code': 200 },
    });
    for (const { startMs, endMs } of collector.spans) {
      expect(endMs).toBeGreaterThanOrEqual(startMs);
      expect(Math.abs(startMs - Date.now())).toBeLessThan(60_000);
    }
  });

  test('the upstream is told of the caller’s trace: by the flight in the detached leg, unchanged in the attached', async () => {
    const own = caller();
    await send(shared.chat('told upstream', { headers: own.headers }));
    const [flight] = await collector.waitFor(is('flight', own.traceId));
    const { headers } = shared.calls[0] ?? {};
    const expected = leg === 'attached' ? own.headers.traceparent : `00-${own.traceId}-${flight?.spanId ?? ''}-01`;
    expect(headers?.['traceparent']).toBe(expected);
    expect(headers?.['tracestate']).toBe('vendor=opaque');
  });

  test('a caller whose trace is not recorded has no spans, and its upstream call says so', async () => {
    const [own, other] = [caller('00'), caller()];
    await send(shared.chat('unrecorded', { headers: own.headers }));
    await send(shared.chat('recorded', { headers: other.headers }));
    await collector.waitFor(is('flight', other.traceId));
    expect(collector.spans.filter(({ traceId }) => traceId === own.traceId)).toEqual([]);
    expect(shared.calls[0]?.headers['traceparent']).toMatch(new RegExp(`^00-${own.traceId}-[0-9a-f]{16}-00$`));
  });

  test('callers without a trace are in one that begins with the leader’s decision', async () => {
    const ids = [0, 1].map((index) => `no-trace-${leg}-${index}`);
    const requests = ids.map((id) => shared.chat('no trace', { headers: { 'x-request-id': id } }));
    await allDone(await shared.fly(requests));
    const { flight: flightId } = await shared.logLine(ids[0] ?? '');
    const of = (name: string, outcome?: string) => (span: SeenSpan) =>
      span.name === `coalesce.${name}` &&
      span.attributes['coalesce.flight'] === flightId &&
      (outcome === undefined || span.attributes['coalesce.outcome'] === outcome);
    const [decided, flight, joined, delivered] = await collector.waitFor(
      of('decide', 'leader'),
      of('flight'),
      of('decide', 'follower'),
      (span) => of('deliver')(span) && span.attributes['coalesce.role'] === 'follower',
    );
    expect(decided?.parentSpanId).toBe('');
    expect(flight).toMatchObject({ traceId: decided?.traceId, parentSpanId: decided?.spanId });
    for (const span of [joined, delivered]) {
      expect(span).toMatchObject({ traceId: flight?.traceId, parentSpanId: flight?.spanId });
    }
    const told = shared.calls[0]?.headers['traceparent'];
    if (leg === 'detached') expect(told).toBe(`00-${flight?.traceId ?? ''}-${flight?.spanId ?? ''}-01`);
    else expect(told).toBeUndefined();
  });

  test('a malformed traceparent costs nobody an answer', async () => {
    for (const traceparent of ['00-zz-zz-01', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`]) {
      const exchange = await send(shared.chat('malformed', { headers: { traceparent } }));
      expect(exchange.status).toBe(200);
    }
  });

  test('a call that is left alone has a span that says why', async () => {
    const own = caller();
    await send(shared.chat('act', { body: { store: true }, headers: own.headers }));
    const [decided] = await collector.waitFor(is('decide', own.traceId));
    expect(decided?.attributes).toMatchObject({ 'coalesce.outcome': 'bypass', 'coalesce.reason': 'side_effects' });
    expect(collector.spans.filter(is('flight', own.traceId))).toEqual([]);
  });

  test('a flight that ends badly is an error in its trace', async () => {
    const own = caller();
    await send(shared.chat('fails', { headers: { ...own.headers, 'x-mock-status': '503' } }));
    const [flight] = await collector.waitFor(is('flight', own.traceId));
    expect(flight).toMatchObject({ status: { code: 2, message: 'failed_status' } });
  });

  test('who asks for OpenMetrics gets trace ids as exemplars, and others a plain scrape', async () => {
    const [first, second] = [caller(), caller()];
    const requests = [first, second].map(({ headers }) => shared.chat('exemplary', { headers }));
    await allDone(await shared.fly(requests));
    await collector.waitFor(is('flight', first.traceId));
    const scrape = async (accept: string): Promise<string> => {
      return (await fetch(`${shared.stack.processor.adminUrl}/metrics`, { headers: { accept } })).text();
    };
    const page = await scrape('application/openmetrics-text;version=1.0.0,text/plain;q=0.5');
    const exemplar = (metric: string, { traceId }: Caller): RegExp =>
      new RegExp(`^coalesce_${metric}_seconds_bucket\\{.*\\} \\d+ # \\{trace_id="${traceId}"\\}`, 'm');
    expect(page).toMatch(exemplar('leader_latency', first));
    expect(page).toMatch(exemplar('follower_wait', second));
    expect(page).toMatch(/^coalesce_decision_seconds_bucket\{.*\} \d+ # \{trace_id="[0-9a-f]{32}"\}/m);
    expect(page.endsWith('# EOF\n')).toBe(true);
    expect(await scrape('text/plain')).not.toContain('trace_id');
  });
});

describe.each(['attached', 'detached'] as const)('%s, an Envoy that traces by itself', (leg) => {
  const shared = new SharedStack({
    leg,
    config: { tracing: { endpoint: collector.endpoint } },
    mutateEnvoy: (config) => {
      Object.assign(connectionManager(config, 'ingress'), { tracing: envoysOwn });
    },
  });

  test('gives callers without a trace one that it shares with us', async () => {
    await allDone(await shared.fly([shared.chat('own trace'), shared.chat('own trace')]));
    const traceId = String(shared.calls[0]?.headers['traceparent']).split('-')[1] ?? '';
    const [led] = await collector.waitFor(is('flight', traceId));
    const flightId = led?.attributes['coalesce.flight'];
    const of = (name: string) => (span: SeenSpan) =>
      span.name === `coalesce.${name}` && span.attributes['coalesce.flight'] === flightId;
    const [flight, decided, joined, delivered] = await collector.waitFor(
      of('flight'),
      (span) => of('decide')(span) && span.attributes['coalesce.outcome'] === 'leader',
      (span) => of('decide')(span) && span.attributes['coalesce.outcome'] === 'follower',
      (span) => of('deliver')(span) && span.attributes['coalesce.role'] === 'follower',
    );
    expect(decided?.traceId).toBe(flight?.traceId);
    for (const span of [decided, joined, delivered]) expect(span?.parentSpanId).not.toBe('');
    expect(joined?.traceId).not.toBe(flight?.traceId);
    expect(delivered).toMatchObject({ traceId: joined?.traceId, links: [idOf(flight)] });
  });

  test('the caller’s own trace comes first', async () => {
    const own = caller();
    await send(shared.chat('own trace first', { headers: own.headers }));
    const [decided] = await collector.waitFor(is('decide', own.traceId));
    expect(decided?.parentSpanId).toBe(own.spanId);
  });
});

describe('attached, a leader that leaves', () => {
  const shared = new SharedStack({ leg: 'attached', config: { tracing: { endpoint: collector.endpoint } } });

  test('is followed by one whose span says so, in the same flight', async () => {
    const [first, second] = [caller(), caller()];
    const pacer = shared.pacedAnswer();
    const leader = begin(shared.chat('handed over', { headers: first.headers }));
    await pacer.reached('head');
    const follower = begin(shared.chat('handed over', { headers: second.headers }));
    await shared.waitForJoins(1);
    await shared.waitForGauge('coalesce_waiters', 1);
    leader.leave();
    await shared.waitForCalls(2);
    pacer.openAll();
    expect((await follower.done).status).toBe(200);
    const [flight, delivered] = await collector.waitFor(is('flight', first.traceId), is('deliver', second.traceId));
    expect(flight?.attributes).toMatchObject({ 'coalesce.promotions': 1, 'coalesce.attempts': 2 });
    expect(delivered).toMatchObject({
      events: ['promoted'],
      attributes: { 'coalesce.outcome': 'leader', 'coalesce.ending': 'led' },
    });
    expect(delivered?.links).toEqual([idOf(flight)]);
  });
});

test('no collector sees a prompt, an answer, a credential or a whole key', () => {
  const seen = collector.bodies.join('\n');
  expect(seen).toContain('coalesce.flight');
  expect(seen).not.toContain(prompt);
  expect(seen).not.toMatch(/test-key|Bearer|tenant/i);
  expect(seen).not.toMatch(/[0-9a-f]{33}/);
});
