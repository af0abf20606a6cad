/** Client errors that are kept for a moment: who asks the same again is answered without a call. */
import { describe, expect, test, vi } from 'vitest';
import { begin } from '../../harness/http-client.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { legs } from './callers.ts';

describe.each(legs)('%s, errors kept for two seconds', (leg) => {
  const shared = new SharedStack({ leg, config: { negative_cache: { ttl: '2s' } } });

  test('a 400 is replayed: status, body and its remaining time, with no call', async () => {
    shared.answerWith({ status: 400 });
    const first = await begin(shared.chat('bad request')).done;
    const id = `replayed-${leg}`;
    const again = await allDone(
      [1, 2, 3].map(() => begin(shared.chat('bad request', { headers: { 'x-request-id': id } }))),
    );
    expectWhole([first, ...again], shared.calls[0], 400);
    expect(shared.calls).toHaveLength(1);
    for (const { headers } of again) expect(headers['cache-status']).toMatch(/^coalescer; hit; ttl=[12]$/);
    expect(first.headers['cache-status']).toBe('coalescer; fwd=miss');
    expect(await shared.counted('coalesce_negative_hits_total')).toBe(3);
    expect(await shared.counted('coalesce_requests_total{outcome="replayed"}')).toBe(3);
    expect(await shared.counted('coalesce_hits_total')).toBe(0);
    expect(await shared.counted('coalesce_upstream_calls_total')).toBe(1);
    expect(await shared.logLine(id)).toMatchObject({ outcome: 'replayed', status: 400, upstream: null });
  });

  test('after its time the upstream is asked again', async () => {
    shared.answerWith((call) => (shared.calls.indexOf(call) === 0 ? { status: 404 } : {}));
    expect((await begin(shared.chat('not yet there')).done).status).toBe(404);
    await vi.waitFor(async () => expect((await begin(shared.chat('not yet there')).done).status).toBe(200), {
      timeout: 5_000,
      interval: 200,
    });
    expect(shared.calls).toHaveLength(2);
  });

  test('another tenant is not answered with it', async () => {
    shared.answerWith({ status: 422 });
    await begin(shared.chat('mine', { headers: { authorization: 'Bearer one' } })).done;
    await begin(shared.chat('mine', { headers: { authorization: 'Bearer two' } })).done;
    expect(shared.calls).toHaveLength(2);
    expect(await shared.counted('coalesce_negative_hits_total')).toBe(0);
  });

  test.for([200, 401, 403, 408, 409, 429, 500, 503])('%s is never kept', async (status) => {
    shared.answerWith({ status });
    for (let count = 0; count < 2; count += 1) await begin(shared.chat(`never kept ${status}`)).done;
    expect(shared.calls).toHaveLength(2);
  });
});

describe.each(legs)('%s, by default', (leg) => {
  const shared = new SharedStack({ leg });

  test('nothing is kept', async () => {
    shared.answerWith({ status: 400 });
    for (let count = 0; count < 2; count += 1) await begin(shared.chat('not kept')).done;
    expect(shared.calls).toHaveLength(2);
  });
});
