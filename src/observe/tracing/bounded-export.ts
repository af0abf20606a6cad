/**
 * The way of ended spans out of the process, in batches and off the handling of requests. It holds a bounded number of
 * them, drops what is over that or cannot be sent, and tells how many; it never waits and never fails.
 */

import type { ExportResult } from '@opentelemetry/core';
import { ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';

import type { SpanDropReason } from '../metrics.ts';

export interface ExportEvents {
  readonly dropped: (reason: SpanDropReason, count: number) => void;
  /** Each failure of a batch. */
  readonly failed: (error: Error) => void;
  readonly succeeded: () => void;
}

export interface ExportLimits {
  /** Ended spans that wait to be sent. */
  readonly maxQueue: number;
  /** Longer than the exporter's own. */
  readonly timeoutMs: number;
}

const BATCH_SIZE = 256;
const BATCH_DELAY_MS = 1_000;

export class BoundedExport implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #events: ExportEvents;
  readonly #maxQueue: number;
  #waiting = 0;

  constructor(exporter: SpanExporter, limits: ExportLimits, events: ExportEvents) {
    this.#events = events;
    this.#maxQueue = limits.maxQueue;
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => this.#export(exporter, spans, done),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: limits.maxQueue,
      maxExportBatchSize: Math.min(BATCH_SIZE, limits.maxQueue),
      scheduledDelayMillis: BATCH_DELAY_MS,
      exportTimeoutMillis: limits.timeoutMs,
    });
  }

  onStart(): void {
    // Nothing is held of a span that has not ended.
  }

  /** The library drops what is over its limit without a word: so it is never over it. */
  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= this.#maxQueue) {
      this.#events.dropped('queue_full', 1);
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  /** Later: the span that fills a batch ends while a request is handled, and a batch takes a while to be written. */
  #export(exporter: SpanExporter, spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#waiting -= spans.length;
    const tell = (result: ExportResult): void => {
      this.#tell(result, spans.length);
      done(result);
    };
    setImmediate(() => {
      try {
        exporter.export(spans, tell);
      } catch (error) {
        // Nobody else would catch it, and no trace is worth the process.
        tell({ code: ExportResultCode.FAILED, error: error instanceof Error ? error : new Error(String(error)) });
      }
    });
  }

  #tell({ code, error }: ExportResult, count: number): void {
    if (code === ExportResultCode.SUCCESS) {
      this.#events.succeeded();
      return;
    }
    this.#events.dropped('export_failed', count);
    this.#events.failed(error ?? new Error('the collector refused the spans'));
  }
}
