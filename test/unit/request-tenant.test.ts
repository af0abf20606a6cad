/**
 * Tenants: what each source says, and that nobody comes among callers with whom no source has put them.
 */

import { describe, expect, it } from 'vitest';
import type { RequestHead } from '../../src/coalesce/request/head.ts';
import type { TenantSource } from '../../src/coalesce/request/policy.ts';
import { tenantOf } from '../../src/coalesce/request/tenant.ts';
import { claims, sampleHead, samplePolicy, secret } from '../support/request-samples.ts';

const header: TenantSource = { kind: 'header', name: 'authorization' };
const apiKey: TenantSource = { kind: 'header', name: 'x-api-key' };
const query: TenantSource = { kind: 'query', name: 'key' };
const sub: TenantSource = { kind: 'metadata', namespace: 'envoy.filters.http.jwt_authn', path: ['payload', 'sub'] };
const iss: TenantSource = { kind: 'metadata', namespace: 'envoy.filters.http.jwt_authn', path: ['payload', 'iss'] };
const sigv4: TenantSource = { kind: 'sigv4' };
const issAndSub: TenantSource = { kind: 'all', sources: [iss, sub] };

function tenant(head: Partial<RequestHead>, ...from: TenantSource[]): string | null {
  return (
    tenantOf(sampleHead({ headers: [], ...head }), samplePolicy({ tenant: { from, anonymous: 'bypass' } }), secret)
      ?.tenant ?? null
  );
}

function sharedTenant(head: Partial<RequestHead>, ...from: TenantSource[]): string | null {
  return (
    tenantOf(sampleHead({ headers: [], ...head }), samplePolicy({ tenant: { from, anonymous: 'share' } }), secret)
      ?.tenant ?? null
  );
}

const bearer = (value: string): Partial<RequestHead> => ({ headers: [['authorization', value]] });
const digest = /^[0-9a-f]{64}$/;

describe('a tenant', () => {
  it('is not told by a scheme without a credential', () => {
    for (const value of ['Bearer', 'bearer ', ' BASIC', 'Token', 'Digest']) {
      expect(tenant(bearer(value), header)).toBeNull();
      expect(
        tenant(
          {
            headers: [
              ['authorization', value],
              ['x-api-key', 'k'],
            ],
          },
          header,
          apiKey,
        ),
      ).toMatch(digest);
    }
    expect(tenant(bearer('bearer-without-a-scheme'), header)).toMatch(digest);
  });

  it('is a digest that shows nothing of the credential', () => {
    expect(tenant(bearer('Bearer a'), header)).toMatch(digest);
    expect(tenant(bearer('Bearer a'), header)).toBe(tenant(bearer('Bearer a'), header));
    expect(tenant(bearer('Bearer a'), header)).not.toBe(tenant(bearer('Bearer b'), header));
  });

  it('depends on the secret', () => {
    const policy = samplePolicy();
    const head = sampleHead();
    expect(tenantOf(head, policy, new Uint8Array(32).fill(1))).not.toEqual(
      tenantOf(head, policy, new Uint8Array(32).fill(2)),
    );
  });

  it('of one source is never that of another with the same text', () => {
    const tenants = [
      tenant(bearer('a'), header),
      tenant({ headers: [['x-api-key', 'a']] }, apiKey),
      tenant({ path: '/v1/chat/completions?key=a' }, query),
      tenant({ metadata: claims({ sub: 'a' }) }, sub),
      tenant({ metadata: claims({ iss: 'a' }) }, iss),
      tenant({ metadata: claims({ iss: 'a', sub: 'a' }) }, issAndSub),
      sharedTenant({}, header),
    ];
    expect(tenants.every((value) => value !== null && digest.test(value))).toBe(true);
    expect(new Set(tenants).size).toBe(tenants.length);
  });

  it('is that of the first source that says something', () => {
    const head = {
      headers: [
        ['authorization', 'a'],
        ['x-api-key', 'b'],
      ] as const,
    };
    expect(tenant(head, header, apiKey)).toBe(tenant(head, header));
    expect(tenant(head, apiKey, header)).toBe(tenant(head, apiKey));
    expect(tenant(head, sub, apiKey)).toBe(tenant(head, apiKey));
  });

  it('of all sources together needs every one, and keeps them apart', () => {
    const both = (issuer: string, subject: string): string | null =>
      tenant({ metadata: claims({ iss: issuer, sub: subject }) }, issAndSub);
    expect(both('ab', 'c')).not.toBe(both('a', 'bc'));
    expect(tenant({ metadata: claims({ sub: 'a' }) }, issAndSub)).toBeNull();
    expect(tenant({ ...bearer('t'), metadata: claims({ sub: 'a' }) }, issAndSub, header)).toBe(
      tenant(bearer('t'), header),
    );
    expect(tenant({}, { kind: 'all', sources: [] })).toBeNull();
  });
});

describe('a source that says nothing', () => {
  it.each<[title: string, head: Partial<RequestHead>]>([
    ['an absent header', {}],
    ['an empty header', bearer('')],
    ['a blank header', bearer('  ')],
    [
      'an AWS signature, for a header source',
      bearer('AWS4-HMAC-SHA256 Credential=A/20260101/r/s/aws4_request, Signature=1'),
    ],
    ['an AWS signature in lower case', bearer('aws4-ecdsa-p256-sha256 x')],
    ['an absent claim', { metadata: claims({}) }],
    ['a claim that is null', { metadata: claims({ sub: null }) }],
    ['no claims', { metadata: claims(undefined) }],
    ['an inherited name', { metadata: claims(Object.create({ sub: 'a' })) }],
    ['an absent parameter', { path: '/v1/chat/completions?x=1' }],
    ['an empty parameter', { path: '/v1/chat/completions?key=' }],
    ['a parameter without a value', { path: '/v1/chat/completions?key' }],
  ])('leaves the word to the next: %s', (_, head) => {
    const sources = [sub, header, query];
    expect(tenant(head, ...sources)).toBeNull();
    const withNext = { ...head, headers: [...(head.headers ?? []), ['x-api-key', 'k']] as const };
    expect(tenant(withNext, ...sources, apiKey)).toBe(tenant(withNext, apiKey));
  });

  it('and none after it that does makes the caller anonymous: no tenant, or one in common', () => {
    expect(tenant({}, header)).toBeNull();
    expect(sharedTenant({}, header)).toMatch(digest);
    expect(sharedTenant({}, header)).toBe(sharedTenant({ authority: 'b' }, sub));
  });
});

describe('a source that says something uncertain', () => {
  it.each<[title: string, head: Partial<RequestHead>]>([
    [
      'a header sent twice',
      {
        headers: [
          ['authorization', 'a'],
          ['authorization', 'a'],
        ],
      },
    ],
    ['a claim that is a number', { metadata: claims({ sub: 7 }) }],
    ['a claim that is a list', { metadata: claims({ sub: ['a'] }) }],
    ['a claim that is empty', { metadata: claims({ sub: '' }) }],
    ['claims that are a text', { metadata: claims('sub') }],
    ['claims that are a list', { metadata: claims([]) }],
    ['a parameter sent twice', { path: '/v1/chat/completions?key=a&key=b' }],
    ['a parameter with an encoded name', { path: '/v1/chat/completions?%6bey=a' }],
    ['a parameter in another case beside it', { path: '/v1/chat/completions?key=a&KEY=b' }],
    ['a broken AWS signature', bearer('AWS4-HMAC-SHA256 Credential=A/20260101/r/aws4_request, Signature=1')],
    [
      'an AWS signature of two',
      bearer('AWS4-HMAC-SHA256 Credential=A/20260101/r/s/aws4_request, Credential=B/20260101/r/s/aws4_request'),
    ],
    ['a presigned URL', { path: '/v1/chat/completions?X-Amz-Signature=abc' }],
  ])('leaves the caller alone, whatever other sources say: %s', (_, head) => {
    const sources = [sub, header, query, sigv4, apiKey];
    const withNext = { ...head, headers: [...(head.headers ?? []), ['x-api-key', 'k']] as const };
    expect(tenant(withNext, ...sources)).toBeNull();
    expect(sharedTenant(withNext, ...sources)).toBeNull();
    expect(tenant(withNext, { kind: 'all', sources: [apiKey, sub, header, query, sigv4] })).toBeNull();
  });
});

describe('an AWS signature', () => {
  const signed = (credential: string, more: readonly (readonly [string, string])[] = []): Partial<RequestHead> => ({
    headers: [['authorization', `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=host, Signature=1`], ...more],
  });
  const base = tenant(signed('A/20260101/r/s/aws4_request'), sigv4);

  it('names the access key, region, service and session; the date is none of them', () => {
    expect(base).toMatch(digest);
    expect(tenant(signed('A/20260102/r/s/aws4_request'), sigv4)).toBe(base);
    const others = [
      tenant(signed('B/20260101/r/s/aws4_request'), sigv4),
      tenant(signed('A/20260101/q/s/aws4_request'), sigv4),
      tenant(signed('A/20260101/r/t/aws4_request'), sigv4),
      tenant(signed('A/20260101/r/s/aws4_request', [['x-amz-security-token', 't']]), sigv4),
    ];
    expect(new Set([base, ...others]).size).toBe(5);
    expect(others).not.toContain(null);
  });

  it('is no tenant unless the policy says so', () => {
    expect(tenant(signed('A/20260101/r/s/aws4_request'), header)).toBeNull();
  });
});
