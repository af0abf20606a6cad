/** The way of spans to a collector that is slow, broken or gone. */
import { TraceFlags } from '@opentelemetry/api';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { describe, expect, test, vi } from 'vitest';

import { BoundedExport } from '../../src/observe/tracing/bounded-export.ts';

const span = {
  resource: { asyncAttributesPending: false },
  spanContext: () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED }),
} as unknown as ReadableSpan;

type Done = (result: ExportResult) => void;

class Exit {
  readonly dropped: Record<string, number> = {};
  readonly failures: string[] = [];
  readonly batches: { readonly count: number; readonly done: Done }[] = [];
  successes = 0;
  readonly spans: BoundedExport;

  constructor(maxQueue: number, send?: SpanExporter['export']) {
    const exporter: SpanExporter = {
      export: send ?? ((spans, done) => void this.batches.push({ count: spans.length, done })),
      shutdown: () => Promise.resolve(),
    };
    const limits = { maxQueue, timeoutMs: 60_000 };
    this.spans = new BoundedExport(exporter, limits, {
      dropped: (reason, count) => (this.dropped[reason] = (this.dropped[reason] ?? 0) + count),
      failed: ({ message }) => this.failures.push(message),
      succeeded: () => (this.successes += 1),
    });
  }

  end(count: number): void {
    for (let index = 0; index < count; index += 1) this.spans.onEnd(span);
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('spans on their way out', () => {
  test('are not written while the span that fills a batch ends', async () => {
    const exit = new Exit(4);
    exit.end(4);
    expect(exit.batches).toEqual([]);
    await turn();
    expect(exit.batches).toMatchObject([{ count: 4 }]);
  });

  test('that are more than the queue holds are dropped and counted, while one batch hangs', async () => {
    const exit = new Exit(4);
    exit.end(4);
    await turn();
    exit.end(10);
    expect(exit.dropped).toEqual({ queue_full: 6 });
    exit.batches[0]?.done({ code: ExportResultCode.SUCCESS });
    await vi.waitFor(() => expect(exit.batches).toHaveLength(2));
    expect(exit.batches[1]).toMatchObject({ count: 4 });
    exit.end(4);
    expect(exit.dropped).toEqual({ queue_full: 6 });
    expect(exit.successes).toBe(1);
  });

  test.each<[string, SpanExporter['export']]>([
    ['refuses', (_, done) => done({ code: ExportResultCode.FAILED, error: new Error('no') })],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
  ])('to a collector that %s are dropped and counted, and the next ones are tried again', async (_, send) => {
    const exit = new Exit(2, send);
    exit.end(2);
    await turn();
    await turn();
    exit.end(2);
    await vi.waitFor(() => expect(exit.dropped).toEqual({ export_failed: 4 }));
    expect(exit.failures).toEqual(['no', 'no']);
  });

  test('are sent at the end, those of a trace that is not recorded never', async () => {
    const exit = new Exit(10, (_, done) => done({ code: ExportResultCode.SUCCESS }));
    exit.end(3);
    await exit.spans.shutdown();
    expect(exit.successes).toBe(1);
    exit.end(1);
    expect(exit.dropped).toEqual({});
  });
});
