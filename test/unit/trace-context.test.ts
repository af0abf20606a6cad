/** W3C Trace Context in the header fields of callers and of our own calls. */
import { describe, expect, test } from 'vitest';

import { callerContext, contextHeaders } from '../../src/observe/tracing/trace-context.ts';
import { callHeaders } from '../../src/upstream/call-headers.ts';
import type { FlightId } from '../../src/coalesce/flight/flight.ts';
import { sampleHead } from '../support/request-samples.ts';

const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
const traceparent = `00-${traceId}-${spanId}-01`;

describe('a caller’s context', () => {
  test('is its traceparent with all of its tracestate', () => {
    const context = callerContext([
      ['tracestate', 'a=1'],
      ['traceparent', traceparent],
      ['tracestate', 'b=2'],
    ]);
    expect(context).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true });
    expect(context?.traceState?.serialize()).toBe('a=1,b=2');
    expect(contextHeaders({ traceId, spanId, traceFlags: 1 })).toEqual([['traceparent', traceparent]]);
  });

  test.each([
    [],
    [['tracestate', 'a=1']],
    [['traceparent', '']],
    [['traceparent', `ff-${traceId}-${spanId}-01`]],
    [['traceparent', `00-${'0'.repeat(32)}-${spanId}-01`]],
    [['traceparent', `00-${traceId}-${'0'.repeat(16)}-01`]],
    [['traceparent', `${traceparent}-more`]],
    [['traceparent', traceparent.toUpperCase()]],
    [
      ['traceparent', traceparent],
      ['traceparent', traceparent],
    ],
  ] as [string, string][][])('is none: %#', (...headers) => {
    expect(callerContext(headers)).toBeNull();
  });

  test('keeps no tracestate that is over the specification’s limits or malformed', () => {
    for (const state of [`a=${'x'.repeat(600)}`, 'no member', 'a=\u0001']) {
      const context = callerContext([
        ['traceparent', traceparent],
        ['tracestate', state],
      ]);
      expect(context === null ? null : contextHeaders(context)).toEqual([['traceparent', traceparent]]);
    }
  });
});

describe('an upstream call', () => {
  const head = {
    ...sampleHead(),
    headers: [
      ['traceparent', traceparent],
      ['tracestate', 'a=1'],
      ['baggage', 'b=2'],
    ],
  } as const;
  const names = (flat: readonly string[]): string[] => flat.filter((_, index) => index % 2 === 0);

  test('has the caller’s own trace where tracing is off', () => {
    expect(callHeaders(head, 'f' as FlightId, [])).toContain(traceparent);
  });

  test('has the flight’s trace alone where it is on, and no state of another', () => {
    const own = `00-${traceId}-1111111111111111-01`;
    const flat = callHeaders(head, 'f' as FlightId, [['traceparent', own]]);
    expect(flat).toContain(own);
    expect(flat).not.toContain(traceparent);
    expect(names(flat).filter((name) => name === 'traceparent' || name === 'tracestate')).toEqual(['traceparent']);
    expect(names(flat)).toContain('baggage');
  });
});
