/** A collector that refuses, hangs or is gone costs callers nothing: spans are dropped, counted, and told once. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { send } from '../../harness/http-client.ts';
import { Collector } from '../support/collector.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const collector = await Collector.start();
const absent = await deadEndpoint();
afterAll(() => collector.close());
beforeEach(() => {
  collector.conduct = 'take';
});

/** Of a caller that leads its flight: decide's, deliver's and the flight's. */
const SPANS_PER_CALL = 3;

const dropped = (reason: string): string => `coalesce_spans_dropped_total{reason="${reason}"}`;

/** An address at which nobody listens. */
async function deadEndpoint(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/v1/traces`;
}

describe('a collector that may fail', () => {
  const shared = new SharedStack({
    leg: 'detached',
    config: { tracing: { endpoint: collector.endpoint, max_queue: 6, timeout: '500ms' } },
  });

  const callInTurn = async (count: number): Promise<void> => {
    const earlier = shared.calls.length;
    for (let index = 0; index < count; index += 1) {
      expectWhole([await send(shared.chat(`call ${earlier + index}`))], shared.calls[earlier + index]);
    }
  };
  const told = async (event: string): Promise<number> => {
    return (await shared.stack.processor.log()).filter((line) => line['event'] === event).length;
  };
  const untilCounted = (reason: string): Promise<void> =>
    vi.waitFor(async () => expect(await shared.counted(dropped(reason))).toBeGreaterThan(0), { timeout: 20_000 });

  const untilDropped = (spans: number): Promise<void> =>
    vi.waitFor(
      async () => {
        const counts = await Promise.all(
          ['export_failed', 'queue_full'].map((reason) => shared.counted(dropped(reason))),
        );
        expect(counts.reduce((sum, count) => sum + count)).toBe(spans);
      },
      { timeout: 20_000 },
    );

  test('refusing, it costs spans alone, and is told once; taking again, it gets them', async () => {
    collector.conduct = 'refuse';
    await callInTurn(5);
    await untilDropped(5 * SPANS_PER_CALL);
    await callInTurn(5);
    await untilDropped(10 * SPANS_PER_CALL);
    expect(await shared.counted(dropped('export_failed'))).toBeGreaterThan(0);
    await vi.waitFor(async () => expect(await told('collector_down')).toBe(1), { timeout: 10_000 });
    collector.conduct = 'take';
    await callInTurn(1);
    await vi.waitFor(async () => expect(await told('collector_up')).toBe(1), { timeout: 20_000 });
    expect(collector.spans.length).toBeGreaterThan(0);
    expect(await told('collector_down')).toBe(1);
  });

  test('hanging, it costs the spans that the queue does not hold, then those of its batch', async () => {
    collector.conduct = 'hang';
    const bodies = collector.bodies.length;
    await callInTurn(3);
    await vi.waitFor(() => expect(collector.bodies.length).toBeGreaterThan(bodies), { timeout: 20_000 });
    await callInTurn(10);
    await untilCounted('queue_full');
    await untilCounted('export_failed');
  });

  test('hanging at the end, it does not keep the process: the drain is over within its time', async () => {
    collector.conduct = 'hang';
    await callInTurn(1);
    const { processor } = shared.stack;
    const startedAt = performance.now();
    processor.kill('SIGTERM');
    expect(await processor.exit).toMatchObject({ code: 0 });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await processor.restart();
    shared.countAnew();
  });

  test('taking at the end, it gets what had not been sent yet', async () => {
    const { processor } = shared.stack;
    const id = 'last-words';
    collector.spans = [];
    await send(shared.chat('last words', { headers: { 'x-request-id': id } }));
    processor.kill('SIGTERM');
    expect(await processor.exit).toMatchObject({ code: 0 });
    const { flight } = await shared.logLine(id);
    const names = collector.spans
      .filter(({ attributes }) => attributes['coalesce.flight'] === flight)
      .map(({ name }) => name)
      .sort();
    expect(names).toEqual(['coalesce.decide', 'coalesce.deliver', 'coalesce.flight']);
    await processor.restart();
    shared.countAnew();
  });
});

describe('a collector that is not there', () => {
  const shared = new SharedStack({ leg: 'attached', config: { tracing: { endpoint: absent, timeout: '500ms' } } });

  test('is told once, and callers share as ever', async () => {
    const request = shared.chat('nobody collects');
    const exchanges = await allDone(await shared.fly([request, request, request]));
    expectWhole(exchanges, shared.calls[0]);
    await vi.waitFor(async () => expect(await shared.counted(dropped('export_failed'))).toBeGreaterThan(0), {
      timeout: 20_000,
    });
    await vi.waitFor(
      async () => {
        const lines = (await shared.stack.processor.log()).filter((line) => line['event'] === 'collector_down');
        expect(lines).toMatchObject([{ level: 'warn', collector: new URL(absent).origin }]);
      },
      { timeout: 10_000 },
    );
  });
});
