/**
 * The key's parts beyond the body: what of the head counts, and what does not.
 */

import { describe, expect, it } from 'vitest';
import type { HeaderList, RequestHead } from '../../src/coalesce/request/head.ts';
import { judge } from '../../src/coalesce/request/eligibility.ts';
import { openaiChat } from '../../src/coalesce/profiles/openai/chat.ts';
import {
  claims,
  defaultSources,
  keyOrReason,
  sampleBody,
  sampleHead,
  samplePolicy,
  secret,
  withHeaders,
} from '../support/request-samples.ts';

const sharing = samplePolicy({ tenant: { from: [...defaultSources, { kind: 'sigv4' }], anonymous: 'share' } });

function keyOf(head: RequestHead): string {
  const key = keyOrReason(head, sampleBody, sharing);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  return key;
}

const path = (query: string): string => keyOf(sampleHead({ path: `/v1/chat/completions${query}` }));
const base = keyOf(sampleHead());

describe('the key', () => {
  it.each<[title: string, head: RequestHead]>([
    ['authority', sampleHead({ authority: 'other' })],
    ['path', sampleHead({ path: '/p/v1/chat/completions' })],
    ['an empty query', sampleHead({ path: '/v1/chat/completions?' })],
    ['query', sampleHead({ path: '/v1/chat/completions?a=1' })],
    ['route', sampleHead({ routeName: '' })],
    ['cluster', sampleHead({ clusterName: '' })],
    ['tenant', sampleHead({ metadata: claims({ iss: 'i', sub: 's' }) })],
    ['a credential beside the tenant', withHeaders(['x-api-key', 'k'])],
    ['an unknown header', withHeaders(['x-anything', ''])],
    ['a nonce', withHeaders(['x-coalesce-nonce', '1'])],
    ['a context', withHeaders(['x-coalesce-context', '1'])],
    ['a word for coalescing', withHeaders(['x-coalesce', 'always'])],
    ['a policy header of the client', withHeaders(['x-coalesce-policy', 'x'])],
    ['who was forwarded', withHeaders(['x-forwarded-user', 'u'])],
    ['an idempotency key', withHeaders(['idempotency-key', '1'])],
    ['a header that only begins like an ignored one', withHeaders(['x-stainlesss', '1'])],
    ['an accept that asks for more', withHeaders(['accept', 'application/json, application/xml'])],
    ['a language', withHeaders(['accept-language', 'fr'])],
    ['a cookie', withHeaders(['cookie', 'a=b'])],
    ['a cache directive', withHeaders(['cache-control', 'no-store'])],
  ])('changes with %s', (_, head) => {
    expect(keyOf(head)).not.toBe(base);
  });

  it('changes with the fleet whose Envoy passed the request on', () => {
    const head = sampleHead();
    const body = Buffer.from(JSON.stringify(sampleBody));
    const keys = [null, 'names URI:spiffe://a', 'names URI:spiffe://b'].map((fleet) => {
      const verdict = judge({ head, body, profile: openaiChat, fleet }, { policy: sharing, secret });
      return verdict.kind === 'eligible' ? verdict.key : verdict.reason;
    });
    expect(new Set(keys).size).toBe(3);
    expect(keys[0]).toBe(base);
  });

  it.each<[title: string, headers: HeaderList]>([
    [
      'telemetry',
      [
        ['user-agent', 'x'],
        ['traceparent', '1'],
        ['x-b3-traceid', '2'],
        ['x-request-id', '3'],
      ],
    ],
    [
      'SDK counters',
      [
        ['x-stainless-retry-count', '1'],
        ['x-fern-language', 'js'],
      ],
    ],
    [
      'proxies on the way',
      [
        ['x-forwarded-for', '192.0.2.1'],
        ['via', '1.1 a'],
        ['x-envoy-attempt-count', '2'],
      ],
    ],
    [
      'the hop',
      [
        ['connection', 'close'],
        ['te', 'trailers'],
        ['expect', '100-continue'],
        ['content-length', '5'],
      ],
    ],
    ['the encoding asked for', [['accept-encoding', 'gzip']]],
    [
      'what is asked for anyway',
      [
        ['accept', 'application/json;q=0.9, */*'],
        ['accept-language', '*'],
        ['cookie', ''],
        ['pragma', 'no-cache'],
      ],
    ],
  ])('does not change with %s', (_, headers) => {
    expect(keyOf(withHeaders(...headers))).toBe(base);
  });

  it('does not change with the order of headers of different names', () => {
    const left = keyOf(withHeaders(['x-a', '1'], ['x-b', '2'], ['x-a', '3']));
    expect(keyOf(withHeaders(['x-b', '2'], ['x-a', '1'], ['x-a', '3']))).toBe(left);
    expect(keyOf(withHeaders(['x-a', '3'], ['x-b', '2'], ['x-a', '1']))).not.toBe(left);
  });

  it('keeps names, values and headers apart', () => {
    const keys = [
      withHeaders(['x-a', 'b'], ['x-c', 'd']),
      withHeaders(['x-a', 'bx-c'], ['x-d', '']),
      withHeaders(['x-a', 'b,x-c:d']),
      withHeaders(['x-ab', ''], ['x-c', 'd']),
    ].map(keyOf);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('sorts parameters, but keeps the order of those that could be one', () => {
    expect(path('?a=1&b=2')).toBe(path('?b=2&a=1'));
    expect(path('?a=1&b=2')).not.toBe(path('?a=2&b=1'));
    for (const [left, right] of [
      ['?x=1&x=2', '?x=2&x=1'],
      ['?x=1&%78=2', '?%78=2&x=1'],
      ['?x=1&X=2', '?X=2&x=1'],
      ['?a=1;b=2&b=3', '?b=3&a=1;b=2'],
      ['?a', '?a='],
      ['?a=%41', '?a=A'],
    ]) {
      expect(path(left ?? '')).not.toBe(path(right ?? ''));
    }
  });

  it('changes with a credential in the query, also where the tenant comes from elsewhere', () => {
    const withClaims = (query: string): string =>
      keyOf(sampleHead({ path: `/v1/chat/completions${query}`, metadata: claims({ iss: 'i', sub: 's' }) }));
    expect(withClaims('?api_key=a')).not.toBe(withClaims('?api_key=b'));
  });

  it('changes with every signature, unless the tenant is the signer', () => {
    const signed = (signature: string): RequestHead =>
      sampleHead({
        headers: [
          ['content-type', 'application/json'],
          [
            'authorization',
            `AWS4-HMAC-SHA256 Credential=A/20260101/r/s/aws4_request, SignedHeaders=host, Signature=${signature}`,
          ],
        ],
      });
    expect(keyOf(signed('1'))).toBe(keyOf(signed('2')));
    const unsigned = samplePolicy({ tenant: { from: defaultSources, anonymous: 'share' } });
    expect(keyOrReason(signed('1'), sampleBody, unsigned)).not.toBe(keyOrReason(signed('2'), sampleBody, unsigned));
  });

  it('changes with the policy, the secret and the profile', () => {
    const head = sampleHead();
    expect(keyOrReason(head, sampleBody, { ...sharing, epoch: 'e2' })).not.toBe(base);
    const body = Buffer.from(JSON.stringify(sampleBody));
    const judged = (profile = openaiChat, withSecret = secret): unknown =>
      judge({ head, body, profile, fleet: null }, { policy: sharing, secret: withSecret });
    expect(judged()).toMatchObject({ key: base });
    expect(judged({ ...openaiChat, name: 'other' })).not.toMatchObject({ key: base });
    expect(judged(openaiChat, new Uint8Array(32))).not.toMatchObject({ key: base });
  });

  it('stays what it is from one version to the next', () => {
    expect(base).toMatchInlineSnapshot(`"e78390f9b7cdd4a55f50908a2a139ed71cc2297a358ed7e86e58884c3d8f6af7"`);
  });
});
