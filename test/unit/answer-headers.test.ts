/** Which header fields of an answer are kept, and who gets them. */

import { describe, expect, test } from 'vitest';

import { answerHeadOf, callerHeaders, leaderCacheStatus } from '../../src/extproc/headers.ts';
import { answerHead } from '../support/flight-deck.ts';

describe('the head as it is recorded', () => {
  test('has end-to-end fields only, and the length apart', () => {
    const headers = [
      ['content-type', 'application/json'],
      ['content-length', '12'],
      ['connection', 'x-hop'],
      ['x-hop', '1'],
      ['x-envoy-upstream-service-time', '5'],
      ['set-cookie', 'a'],
      ['set-cookie', 'b'],
    ] as const;
    expect(answerHeadOf({ status: '200', headers })).toEqual({
      status: '200',
      headers: [
        ['content-type', 'application/json'],
        ['set-cookie', 'a'],
        ['set-cookie', 'b'],
      ],
      contentLength: 12,
      announcesTrailers: false,
    });
  });

  test('a head that names trailers says so', () => {
    const headers = [['trailer', 'x-checksum']] as const;
    expect(answerHeadOf({ status: '200', headers })).toMatchObject({ headers: [], announcesTrailers: true });
  });

  test.each(['', 'x', '-1', '1.5', ' 1', '1, 1', '1'.repeat(16)])('a length that reads %j is not known', (length) => {
    expect(answerHeadOf({ status: '200', headers: [['content-length', length]] }).contentLength).toBeNull();
  });

  test('a length that came twice is not known', () => {
    const headers = [['content-length', '1'], ['content-length', '1']] as const; // prettier-ignore
    expect(answerHeadOf({ status: '200', headers }).contentLength).toBeNull();
  });
});

describe('cache-status', () => {
  test('of a leader is appended to what the upstream’s caches said', () => {
    expect(leaderCacheStatus([])).toEqual([['cache-status', 'coalescer; fwd=miss']]);
    const upstream = [['cache-status', 'a; hit'], ['cache-status', 'b; fwd=miss']] as const; // prettier-ignore
    expect(leaderCacheStatus(upstream)).toEqual([['cache-status', 'a; hit, b; fwd=miss, coalescer; fwd=miss']]);
  });

  test('of a follower says collapsed', () => {
    expect(callerHeaders(answerHead(), { role: 'follower', freshForMs: null })).toContainEqual([
      'cache-status',
      'coalescer; fwd=miss; collapsed',
    ]);
  });
});

test.for([
  [2_000, 2],
  [1_001, 2],
  [1_000, 1],
  [1, 1],
  [0, 0],
] as const)('an answer that is kept for %s ms says hit and ttl=%s', ([freshForMs, ttl]) => {
  const headers = callerHeaders(answerHead(), { role: 'replayed', freshForMs });
  expect(headers).toContainEqual(['cache-status', `coalescer; hit; ttl=${ttl}`]);
});

describe('who gets what', () => {
  const head = answerHead({
    headers: [
      ['content-type', 'application/json'],
      ['x-ratelimit-remaining', '9'],
      ['cache-status', 'a; hit'],
      ['set-cookie', 'a'],
    ],
    contentLength: 12,
  });

  test('the leader of a detached flight gets every field, and one cache-status', () => {
    expect(callerHeaders(head, { role: 'leader', freshForMs: null })).toEqual([
      ['content-type', 'application/json'],
      ['x-ratelimit-remaining', '9'],
      ['set-cookie', 'a'],
      ['content-length', '12'],
      ['cache-status', 'a; hit, coalescer; fwd=miss'],
    ]);
  });

  test('a follower gets what describes the body, and its length where it is known', () => {
    expect(callerHeaders(head, { role: 'follower', freshForMs: null })).toEqual([
      ['content-type', 'application/json'],
      ['content-length', '12'],
      ['cache-status', 'coalescer; fwd=miss; collapsed'],
    ]);
    expect(
      callerHeaders({ ...head, contentLength: null }, { role: 'follower', freshForMs: null }).map(([name]) => name),
    ).toEqual(['content-type', 'cache-status']);
  });
});
