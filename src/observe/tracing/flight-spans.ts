/**
 * The spans of flights, from the exchange that leads one first to the flight's report, and their contexts a little longer:
 * a follower may redeem its ticket when its flight has landed.
 */

import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';

import type { FlightId } from '../../coalesce/flight/flight.ts';
import type { FlightReport } from '../../coalesce/table/effects.ts';

interface FlightSpan {
  readonly span: Span;
  /** From the process's clock to the time of day, both in ms. */
  readonly offset: number;
}

/** Of ended flights. A ticket is redeemed within seconds, if ever; a link that is missing then is all that is lost. */
const CONTEXTS_KEPT = 1024;

/** Longer model names are cut. */
const MODEL_LENGTH = 200;

export class FlightSpans {
  readonly #tracer: Tracer;
  readonly #running = new Map<FlightId, FlightSpan>();
  readonly #ended = new Map<FlightId, SpanContext>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** A flight has its first leader. Those that lead it later change nothing. */
  began(id: FlightId, options: { parent: SpanContext | null; at: number; offset: number }): void {
    if (this.#running.has(id) || this.#ended.has(id)) return;
    const { parent, at, offset } = options;
    const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    const span = this.#tracer.startSpan('coalesce.flight', { kind: SpanKind.CLIENT, startTime: at + offset }, context);
    this.#running.set(id, { span, offset });
  }

  /** Null where the flight is not known, or was over long ago. */
  contextOf(id: FlightId): SpanContext | null {
    return this.#running.get(id)?.span.spanContext() ?? this.#ended.get(id) ?? null;
  }

  /** Of a trace that is recorded; else null. */
  traceIdOf(id: FlightId): string | null {
    return sampledTraceId(this.contextOf(id));
  }

  answerBegan(id: FlightId, at: number): void {
    const flight = this.#running.get(id);
    flight?.span.addEvent('first_byte', at + flight.offset);
  }

  ended(report: FlightReport, at: number): void {
    const { id, ending } = report;
    const flight = this.#running.get(id);
    if (flight === undefined) return;
    const { span, offset } = flight;
    this.#running.delete(id);
    this.#keep(id, span.spanContext());
    span.setAttributes(attributesOf(report));
    if (ending !== 'landed' && ending !== 'abandoned') {
      span.setStatus({ code: SpanStatusCode.ERROR, message: ending });
    }
    span.end(at + offset);
  }

  #keep(id: FlightId, context: SpanContext): void {
    this.#ended.set(id, context);
    if (this.#ended.size <= CONTEXTS_KEPT) return;
    const [oldest] = this.#ended.keys();
    if (oldest !== undefined) this.#ended.delete(oldest);
  }
}

/** Null where the trace is not recorded. */
export function sampledTraceId(context: SpanContext | null): string | null {
  return context !== null && (context.traceFlags & TraceFlags.SAMPLED) !== 0 ? context.traceId : null;
}

function attributesOf(report: FlightReport): Record<string, string | number> {
  const { status, tokens, firstByteMs } = report;
  return {
    'coalesce.flight': report.id,
    'coalesce.key8': report.key8.slice(0, 8),
    'coalesce.leg': report.leg,
    'coalesce.ending': report.ending,
    'coalesce.policy': report.policy,
    'coalesce.waiters': report.followers,
    'coalesce.attempts': report.attempts,
    'coalesce.promotions': report.promotions,
    'coalesce.queued_ms': report.queuedMs,
    'coalesce.bytes': report.bytes,
    'gen_ai.request.model': report.model.slice(0, MODEL_LENGTH),
    ...(firstByteMs === null ? {} : { 'coalesce.first_byte_ms': firstByteMs }),
    ...(status === null ? {} : { 'http.response.status_code': Number(status) }),
    ...(tokens === null || tokens.prompt === null ? {} : { 'gen_ai.usage.input_tokens': tokens.prompt }),
    ...(tokens === null || tokens.completion === null ? {} : { 'gen_ai.usage.output_tokens': tokens.completion }),
  };
}
