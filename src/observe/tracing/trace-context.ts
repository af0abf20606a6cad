/** W3C Trace Context: what a caller's header fields say of its trace, and the fields that say it of ours. */

import type { SpanContext } from '@opentelemetry/api';
import { parseTraceParent, TraceState } from '@opentelemetry/core';

import { headerValues, soleHeader, type HeaderList } from '../../coalesce/request/head.ts';

/** Null where the caller sends no `traceparent`, more than one, or one that is malformed. */
export function callerContext(headers: HeaderList): SpanContext | null {
  const text = soleHeader(headers, 'traceparent');
  const parent = text === null ? null : parseTraceParent(text);
  if (parent === null) return null;
  const state = headerValues(headers, 'tracestate').join(',');
  return { ...parent, isRemote: true, ...(state === '' ? {} : { traceState: new TraceState(state) }) };
}

/** For an upstream call. */
export function contextHeaders({ traceId, spanId, traceFlags, traceState }: SpanContext): HeaderList {
  const flags = traceFlags.toString(16).padStart(2, '0');
  const state = traceState?.serialize() ?? '';
  return [
    ['traceparent', `00-${traceId}-${spanId}-${flags}`],
    ...(state === '' ? [] : [['tracestate', state] as const]),
  ];
}
