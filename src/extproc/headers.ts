/** Which header fields each caller gets, and which ones the leader's request goes upstream with. */

import type { AnswerHead, CallerRole } from '../coalesce/flight/flight.ts';
import { endToEndHeaders, replayedHeaders } from '../coalesce/flight/replayed-headers.ts';
import { headerValues, soleHeader, type HeaderList } from '../coalesce/request/head.ts';

/** RFC 9211: this cache's part of `cache-status`. */
const LEADER_STATUS = 'coalescer; fwd=miss';
const FOLLOWER_STATUS = 'coalescer; fwd=miss; collapsed';

/** Asks the upstream for an answer that every follower can read. */
export const withIdentityEncoding: { readonly setHeaders: HeaderList } = {
  setHeaders: [['accept-encoding', 'identity']],
};

/** The head of an answer as it is recorded. */
export function answerHeadOf(message: { status: string; headers: HeaderList }): AnswerHead {
  const { status, headers } = message;
  return {
    status,
    headers: endToEndHeaders(headers),
    contentLength: contentLengthOf(headers),
    announcesTrailers: headerValues(headers, 'trailer').length > 0,
  };
}

/** RFC 9110, section 8.6; null where it is absent, repeated or no number. */
function contentLengthOf(headers: HeaderList): number | null {
  const value = soleHeader(headers, 'content-length');
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : null;
}

/** Appends our member to whatever `cache-status` the answer has: the list runs from the origin to the client. */
export function leaderCacheStatus(headers: HeaderList): HeaderList {
  return [['cache-status', [...headerValues(headers, 'cache-status'), LEADER_STATUS].join(', ')]];
}

/** The fields that a caller in deliver gets: the first one all that go end to end, the others the allow-list. */
export function callerHeaders(head: AnswerHead, as: { role: CallerRole; freshForMs: number | null }): HeaderList {
  const length: HeaderList = head.contentLength === null ? [] : [['content-length', String(head.contentLength)]];
  if (as.role !== 'leader') return [...replayedHeaders(head.headers), ...length, ['cache-status', sharedStatus(as)]];
  const own = head.headers.filter(([name]) => name !== 'cache-status');
  return [...own, ...length, ...leaderCacheStatus(head.headers)];
}

function sharedStatus({ role, freshForMs }: { role: CallerRole; freshForMs: number | null }): string {
  return role === 'replayed' ? `coalescer; hit; ttl=${Math.ceil((freshForMs ?? 0) / 1000)}` : FOLLOWER_STATUS;
}
