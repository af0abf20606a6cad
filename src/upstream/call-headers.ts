/** The header fields of an egress call, and the reading of what comes back. */

import type { FlightId } from '../coalesce/flight/flight.ts';
import { endToEndHeaders } from '../coalesce/flight/replayed-headers.ts';
import { headerValues, type HeaderList, type RequestHead } from '../coalesce/request/head.ts';

/** Marks a call as ours, so that it is not coalesced again where the egress is pointed at the ingress by mistake. */
const FLIGHT_HEADER = 'x-coalesce-flight';

/**
 * The first caller's fields, as undici takes them: flat, names and values in turn. Hop-by-hop fields and `x-coalesce*`
 * are left out; `host` is the caller's authority; the encoding is one that every follower can read; `expect` was
 * answered by Envoy; `content-length` follows from the body. `trace` replaces the caller's trace, where it is not empty.
 */
export function callHeaders(head: RequestHead, flight: FlightId, trace: HeaderList): string[] {
  const flat = ['host', head.authority, 'accept-encoding', 'identity', FLIGHT_HEADER, flight, ...trace.flat()];
  for (const [name, value] of endToEndHeaders(head.headers)) {
    if (!isReplaced(name) && (trace.length === 0 || !isTrace(name))) flat.push(name, value);
  }
  return flat;
}

function isTrace(name: string): boolean {
  return name === 'traceparent' || name === 'tracestate';
}

function isReplaced(name: string): boolean {
  return (
    name === 'host' ||
    name === 'accept-encoding' ||
    name === 'expect' ||
    name === 'content-length' ||
    name.startsWith('x-coalesce')
  );
}

/** Whether the end of an answer's body can be told from its connection's (RFC 9112, section 6.3). */
export function isFramed(headers: HeaderList): boolean {
  const codings = headerValues(headers, 'transfer-encoding');
  if (codings.length > 0) return /(?:^|,)\s*chunked\s*$/i.test(codings.join(','));
  return headerValues(headers, 'content-length').length > 0;
}

/**
 * Whether the answer is the last one on its connection (RFC 9112, section 9.6), as undici's parser takes it. An answer of
 * HTTP/1.0 is one too, but of that nothing is told; an Envoy has no such answers to a request of HTTP/1.1.
 */
export function closesConnection(headers: HeaderList): boolean {
  return ['connection', 'proxy-connection'].some((name) =>
    headerValues(headers, name).some((value) => /(?:^|,)\s*close\s*(?:,|$)/i.test(value)),
  );
}

/** undici's raw fields (names and values in turn) as a list. Values keep one unit per byte. */
export function parseRawHeaders(raw: unknown): HeaderList {
  if (!Array.isArray(raw)) return [];
  const fields: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) fields.push([latin1(raw[at]).toLowerCase(), latin1(raw[at + 1])]);
  return fields;
}

function latin1(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('latin1') : String(value);
}
