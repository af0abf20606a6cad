/**
 * Tracing by OpenTelemetry, from its configuration to spans at a collector. The only door to the library, which is loaded
 * where tracing is on.
 */

import type { Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';

import type { FlightId } from '../../coalesce/flight/flight.ts';
import type { HeaderList } from '../../coalesce/request/head.ts';
import type { TracingConfig } from '../../config/tracing-definition.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { BoundedExport, type ExportEvents } from './bounded-export.ts';
import { ExchangeTrace } from './exchange-trace.ts';
import { FlightSpans } from './flight-spans.ts';
import { contextHeaders } from './trace-context.ts';

/** So long the library may take to give up a batch after the exporter should have. */
const EXPORT_SLACK_MS = 1_000;

export class Tracing {
  readonly flights: FlightSpans;
  readonly #tracer: Tracer;
  readonly #provider: TracerProvider;

  constructor(provider: TracerProvider) {
    this.#provider = provider;
    this.#tracer = provider.getTracer('envoy-coalescer');
    this.flights = new FlightSpans(this.#tracer);
  }

  /** `openedAt` in the process's own clock, `performance.now()`; `stream`: trace fields of its gRPC stream. */
  exchange(openedAt: number, stream: HeaderList): ExchangeTrace {
    return new ExchangeTrace(this.#tracer, this.flights, { openedAt, offset: Date.now() - performance.now(), stream });
  }

  /** The header fields that carry a flight's context upstream; none where it is not known. */
  headersOf(flight: FlightId): HeaderList {
    const context = this.flights.contextOf(flight);
    return context === null ? [] : contextHeaders(context);
  }

  /** Sends what has ended, for at most so long. Never rejects: what the collector does not take by then is lost. */
  async close(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
    });
    const flushed = this.#provider.shutdown().catch(() => undefined); // told by the export's own events
    await Promise.race([flushed, limit]);
    clearTimeout(timer);
  }
}

export function openTracing(config: TracingConfig, sinks: { metrics: Metrics; log: Log }): Tracing {
  const { endpoint, headers, timeoutMs, maxQueue } = config;
  const exporter = new OTLPTraceExporter({
    url: endpoint,
    headers: Object.fromEntries(headers),
    timeoutMillis: timeoutMs,
  });
  const limits = { maxQueue, timeoutMs: timeoutMs + EXPORT_SLACK_MS };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': config.serviceName }),
    // A caller's own decision stands; `sample` is for traces that begin here.
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(config.sample) }),
    spanProcessors: [new BoundedExport(exporter, limits, exportEvents(config, sinks))],
  });
  return new Tracing(provider);
}

/** A collector that is gone is told once, until it is back. */
function exportEvents({ endpoint }: TracingConfig, { metrics, log }: { metrics: Metrics; log: Log }): ExportEvents {
  const collector = new URL(endpoint).origin;
  let isDown = false;
  return {
    dropped: (reason, count) => metrics.countSpansDropped(reason, count),
    failed: (error) => {
      if (!isDown) log.collectorDown(collector, error);
      isDown = true;
    },
    succeeded: () => {
      if (isDown) log.collectorUp(collector);
      isDown = false;
    },
  };
}
