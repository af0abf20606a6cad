/**
 * What head, end and failure of an answer say, as bytes. Only what followers get is written: the rest of a head is about
 * the leader, its quota or its hop.
 */

import type { AnswerHead } from '../../coalesce/flight/flight.ts';
import { replayedHeaders, replayedTrailers } from '../../coalesce/flight/replayed-headers.ts';
import type { HeaderList } from '../../coalesce/request/head.ts';

export type SharedHead = AnswerHead & {
  /** There is no body, and the answer is whole. */
  readonly endOfStream: boolean;
};

export interface SharedEnd {
  /** Of the body, in all. */
  readonly bytes: number;
  readonly trailers: HeaderList | null;
}

/** A head, and until when others may begin to follow its answer: in ms since 1970, by the leader's clock. */
export interface DatedHead {
  readonly head: SharedHead;
  readonly joinableUntil: number;
}

export function writeHead({ head, joinableUntil }: DatedHead): Buffer {
  return Buffer.from(JSON.stringify({ ...head, headers: replayedHeaders(head.headers), joinableUntil }));
}

/** Of authenticated bytes; null where another version wrote them in another shape. */
export function readHead(content: Buffer): DatedHead | null {
  const data = parse(content);
  if (data === null) return null;
  const { status, headers, contentLength, announcesTrailers, endOfStream, joinableUntil } = data;
  if (typeof status !== 'string' || !isHeaderList(headers)) return null;
  if (contentLength !== null && typeof contentLength !== 'number') return null;
  if (typeof announcesTrailers !== 'boolean' || typeof endOfStream !== 'boolean') return null;
  if (typeof joinableUntil !== 'number') return null;
  return { head: { status, headers, contentLength, announcesTrailers, endOfStream }, joinableUntil };
}

export function writeEnd({ bytes, trailers }: SharedEnd): Buffer {
  return Buffer.from(JSON.stringify({ bytes, trailers: trailers === null ? null : replayedTrailers(trailers) }));
}

export function readEnd(content: Buffer): SharedEnd | null {
  const data = parse(content);
  if (data === null) return null;
  const { bytes, trailers } = data;
  if (typeof bytes !== 'number' || !(trailers === null || isHeaderList(trailers))) return null;
  return { bytes, trailers };
}

function parse(content: Buffer): Record<string, unknown> | null {
  try {
    const data: unknown = JSON.parse(content.toString('utf8'));
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isHeaderList(data: unknown): data is HeaderList {
  return (
    Array.isArray(data) &&
    data.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string'))
  );
}
