/**
 * One exchange's span: of its decision in decide, of its whole stay in deliver. It belongs to the caller's trace where the
 * caller has one, else to that of its flight; it is linked to the flight's span in both cases.
 */

import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';

import type { CallerRole, FlightId } from '../../coalesce/flight/flight.ts';
import type { HeaderList } from '../../coalesce/request/head.ts';
import { sampledTraceId, type FlightSpans } from './flight-spans.ts';
import { callerContext } from './trace-context.ts';

/** What decide said. */
export interface SaidDecision {
  readonly outcome: string;
  readonly reason: string | null;
  readonly policy: string | null;
  /** Cut to 8 hex digits. */
  readonly key8: string | null;
  /** That it leads or joins. */
  readonly flight: FlightId | null;
  /** Under shadow. */
  readonly would: string | null;
}

/** How an exchange in deliver ended. */
export interface DeliverEnd {
  readonly ending: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly status: number | null;
  readonly bytes: number;
  readonly waitedMs: number | null;
}

export class ExchangeTrace {
  readonly #tracer: Tracer;
  readonly #flights: FlightSpans;
  readonly #openedAt: number;
  /** From the process's clock to the time of day, both in ms. */
  readonly #offset: number;
  readonly #stream: HeaderList;
  #caller: SpanContext | null = null;
  #own: Span | null = null;

  /**
   * `openedAt` is a time of the process's clock, `offset` leads from it to the time of day; both in ms. `stream`: what the
   * gRPC stream itself says of a trace.
   */
  constructor(
    tracer: Tracer,
    flights: FlightSpans,
    exchange: { openedAt: number; offset: number; stream: HeaderList },
  ) {
    this.#tracer = tracer;
    this.#flights = flights;
    this.#openedAt = exchange.openedAt;
    this.#offset = exchange.offset;
    this.#stream = exchange.stream;
  }

  /** Its request's head came. An Envoy that begins a trace by itself tells only its own streams of it. */
  requested(headers: HeaderList): void {
    this.#caller = callerContext(headers) ?? callerContext(this.#stream);
  }

  /** Of a trace that is recorded; else null. */
  get traceId(): string | null {
    return sampledTraceId(this.#own?.spanContext() ?? null);
  }

  /** decide has said what it says: the span is over, and the flight that the exchange leads begins. */
  decided(decision: SaidDecision, now: number): void {
    if (this.#own !== null) return;
    const { outcome, flight } = decision;
    const span = this.#start('coalesce.decide', flight);
    this.#own = span;
    span.setAttributes(decisionAttributes(decision));
    span.end(now + this.#offset);
    if (outcome === 'leader' && flight !== null) this.#leads(flight, now);
  }

  /** deliver has redeemed its ticket. */
  boarded(at: { flight: FlightId; role: CallerRole; policy: string }): void {
    const { flight, role, policy } = at;
    const attributes = { 'coalesce.flight': flight, 'coalesce.role': role, 'coalesce.policy': policy };
    this.#own = this.#start('coalesce.deliver', flight).setAttributes(attributes);
  }

  /** It goes upstream from deliver, in place of one that led before, or as the first. */
  promoted(flight: FlightId, now: number): void {
    this.#own?.addEvent('promoted', now + this.#offset);
    this.#leads(flight, now);
  }

  /** The stream of an exchange that had boarded is over. */
  left(end: DeliverEnd, now: number): void {
    const span = this.#own;
    if (span === null || !span.isRecording()) return;
    span.setAttributes(endAttributes(end));
    if (end.ending === 'cut' || end.ending === 'protocol_error') {
      span.setStatus({ code: SpanStatusCode.ERROR, message: end.ending });
    }
    span.end(now + this.#offset);
  }

  #leads(flight: FlightId, at: number): void {
    const parent = this.#caller ?? this.#own?.spanContext() ?? null;
    this.#flights.began(flight, { parent, at, offset: this.#offset });
  }

  #start(name: string, flight: FlightId | null): Span {
    const flown = flight === null ? null : this.#flights.contextOf(flight);
    const parent = this.#caller ?? flown;
    const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    const links = flown === null ? [] : [{ context: flown }];
    const startTime = this.#openedAt + this.#offset;
    return this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime, links }, context);
  }
}

function decisionAttributes({ outcome, reason, policy, key8, flight, would }: SaidDecision): Attributes {
  return {
    'coalesce.outcome': outcome,
    ...(reason === null ? {} : { 'coalesce.reason': reason }),
    ...(policy === null ? {} : { 'coalesce.policy': policy }),
    ...(key8 === null ? {} : { 'coalesce.key8': key8.slice(0, 8) }),
    ...(flight === null ? {} : { 'coalesce.flight': flight }),
    ...(would === null ? {} : { 'coalesce.would': would }),
  };
}

function endAttributes({ ending, outcome, reason, status, bytes, waitedMs }: DeliverEnd): Attributes {
  return {
    'coalesce.ending': ending,
    'coalesce.bytes': bytes,
    ...(outcome === null ? {} : { 'coalesce.outcome': outcome }),
    ...(reason === null ? {} : { 'coalesce.reason': reason }),
    ...(waitedMs === null ? {} : { 'coalesce.waited_ms': waitedMs }),
    ...(status === null ? {} : { 'http.response.status_code': status }),
  };
}
