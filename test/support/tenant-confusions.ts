/**
 * Pairs of callers that somebody might take for one: as data, for a stack whose Envoy verifies tokens of two issuers, takes
 * them away, and routes `user-agent: blue` by itself. Each host has a policy of its own.
 */

/** What one caller sends; the body is the same for both. */
export interface Caller {
  /** Claims of its token. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** `a` unless given. */
  readonly issuer?: 'a' | 'b';
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly query?: string;
}

export interface Confusion {
  readonly what: string;
  /** One of `policiesByHost`; the default policy's otherwise. */
  readonly host?: string;
  readonly callers: readonly [Caller, Caller];
}

const claim = (...path: string[]): object => ({
  metadata: { namespace: 'envoy.filters.http.jwt_authn', path: ['payload', ...path] },
});

export const policiesByHost: Readonly<Record<string, { readonly tenant: { readonly from: readonly object[] } }>> = {
  'claims.test': { tenant: { from: [{ all: [claim('iss'), claim('team')] }] } },
  'nested.test': { tenant: { from: [claim('tenant', 'id')] } },
  'header.test': { tenant: { from: [{ header: 'x-team' }] } },
  'mixed.test': { tenant: { from: [claim('team'), { header: 'x-team' }] } },
  'xfcc.test': { tenant: { from: [{ header: 'x-forwarded-client-cert' }] } },
  'sigv4.test': { tenant: { from: [{ sigv4: 'access_key' }] } },
};

const team = (value: unknown): Caller => ({ claims: { team: value } });
const tenant = (claims: Readonly<Record<string, unknown>>): Caller => ({ claims });
const byHeader = (value: string | string[], name = 'x-team'): Caller => ({ headers: { [name]: value } });
const withKey = (key: string, headers: Record<string, string> = {}, query?: string): Caller => {
  return { headers: { 'x-api-key': key, ...headers }, ...(query === undefined ? {} : { query }) };
};

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
const long = 'x'.repeat(4_000);
const aws = (keyId: string, signature: string): Caller => {
  const credential = `Credential=${keyId}/20250101/us-east-1/bedrock/aws4_request`;
  const authorization = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=host;x-amz-date, Signature=${signature.repeat(64)}`;
  return { headers: { authorization, 'x-amz-date': '20250101T000000Z' } };
};

const claims: readonly Confusion[] = [
  { what: 'claims in another case', host: 'claims.test', callers: [team('acme'), team('Acme')] },
  { what: 'a claim with a space behind', host: 'claims.test', callers: [team('acme'), team('acme ')] },
  { what: 'a claim with a space in front', host: 'claims.test', callers: [team('acme'), team(' acme')] },
  { what: 'a claim with a NUL behind', host: 'claims.test', callers: [team('acme'), team('acme\u0000')] },
  { what: 'two empty claims', host: 'claims.test', callers: [team(''), team('')] },
  {
    what: 'claims that differ behind 4,000 characters',
    host: 'claims.test',
    callers: [team(`${long}a`), team(`${long}b`)],
  },
  { what: 'claims that look alike', host: 'claims.test', callers: [team('acme'), team('\u0430cme')] },
  { what: 'claims in two Unicode forms', host: 'claims.test', callers: [team('caf\u00e9'), team('cafe\u0301')] },
  { what: 'no claim and another', host: 'claims.test', callers: [tenant({}), team('acme')] },
  { what: 'no claim, twice', host: 'claims.test', callers: [tenant({}), tenant({})] },
  { what: 'null, twice', host: 'claims.test', callers: [team(null), team(null)] },
  { what: 'null and its text', host: 'claims.test', callers: [team(null), team('null')] },
  { what: 'a number, twice', host: 'claims.test', callers: [team(7), team(7)] },
  { what: 'a number and its text', host: 'claims.test', callers: [team(7), team('7')] },
  { what: 'numbers that a double cannot tell apart', host: 'claims.test', callers: [team(2 ** 53), team(2 ** 53 + 2)] },
  { what: 'a boolean, twice', host: 'claims.test', callers: [team(true), team(true)] },
  { what: 'a boolean and its text', host: 'claims.test', callers: [team(true), team('true')] },
  { what: 'an array, twice', host: 'claims.test', callers: [team(['acme']), team(['acme'])] },
  { what: 'an array and its item', host: 'claims.test', callers: [team(['acme']), team('acme')] },
  { what: 'an object, twice', host: 'claims.test', callers: [team({ id: 'acme' }), team({ id: 'acme' })] },
  {
    what: 'a dotted name for a nested one',
    host: 'nested.test',
    callers: [tenant({ tenant: { id: 'acme' } }), tenant({ 'tenant.id': 'acme' })],
  },
  {
    what: 'one level deeper',
    host: 'nested.test',
    callers: [tenant({ tenant: { id: 'acme' } }), tenant({ tenant: { id: { id: 'acme' } } })],
  },
  {
    what: 'an array on the way',
    host: 'nested.test',
    callers: [tenant({ tenant: { id: 'acme' } }), tenant({ tenant: [{ id: 'acme' }] })],
  },
  { what: 'two issuers with one sub', callers: [tenant({ sub: 'u1' }), { claims: { sub: 'u1' }, issuer: 'b' }] },
  {
    what: 'a sub that spells issuer and sub',
    callers: [tenant({ sub: 'u1' }), { claims: { sub: 'https://a.test u1' }, issuer: 'b' }],
  },
  { what: 'a claim and a header of one text', host: 'mixed.test', callers: [team('acme'), byHeader('acme')] },
  {
    what: 'a header beside a claim that is none',
    host: 'mixed.test',
    callers: [
      { ...byHeader('acme'), claims: { team: 7 } },
      { ...byHeader('acme'), claims: { team: 8 } },
    ],
  },
];

const headers: readonly Confusion[] = [
  { what: 'values of a header in another case', host: 'header.test', callers: [byHeader('acme'), byHeader('ACME')] },
  {
    what: 'a header’s name in another case',
    host: 'header.test',
    callers: [byHeader('acme'), byHeader('other', 'X-Team')],
  },
  { what: 'a header twice', host: 'header.test', callers: [byHeader('acme'), byHeader(['other', 'acme'])] },
  {
    what: 'the same header twice, from both',
    host: 'header.test',
    callers: [byHeader(['acme', 'other']), byHeader(['acme', 'other'])],
  },
  { what: 'two values joined by a comma', host: 'header.test', callers: [byHeader('acme'), byHeader('acme, other')] },
  { what: 'a no-break space behind', host: 'header.test', callers: [byHeader('acme'), byHeader('acme\u00a0')] },
  { what: 'an empty header, from both', host: 'header.test', callers: [byHeader(''), byHeader('')] },
  { what: 'spaces alone, from both', host: 'header.test', callers: [byHeader('   '), byHeader('   ')] },
  {
    what: 'headers that differ behind 4,000 characters',
    host: 'header.test',
    callers: [byHeader(`${long}a`), byHeader(`${long}b`)],
  },
  { what: 'bytes beyond ASCII', host: 'header.test', callers: [byHeader(latin1('caf\u00e9')), byHeader('caf\u00e9')] },
  { what: 'one value under two names', callers: [byHeader('secret', 'x-api-key'), byHeader('secret', 'api-key')] },
  {
    what: 'x-forwarded-user behind one upstream key',
    callers: [withKey('shared', { 'x-forwarded-user': 'ann' }), withKey('shared', { 'x-forwarded-user': 'bob' })],
  },
  {
    what: 'x-forwarded-email behind one upstream key',
    callers: [withKey('shared', { 'x-forwarded-email': 'ann@x' }), withKey('shared', { 'x-forwarded-email': 'bob@x' })],
  },
  {
    what: 'a certificate behind another in XFCC',
    host: 'xfcc.test',
    callers: [
      byHeader('Hash=bb;URI=spiffe://x/b', 'x-forwarded-client-cert'),
      byHeader('Hash=aa;URI=spiffe://x/a,Hash=bb;URI=spiffe://x/b', 'x-forwarded-client-cert'),
    ],
  },
  {
    what: 'a forged signature with a known access key id, unless it is trusted',
    callers: [aws('AKIAKNOWN', 'a'), aws('AKIAKNOWN', 'b')],
  },
  { what: 'the same forged signature, unless it is trusted', callers: [aws('AKIAKNOWN', 'a'), aws('AKIAKNOWN', 'a')] },
  {
    what: 'two access key ids behind a gateway that verifies',
    host: 'sigv4.test',
    callers: [aws('AKIAONE', 'a'), aws('AKIATWO', 'a')],
  },
];

const forged = '{"tenant":{"from":[],"anonymous":"share"}}';

const others: readonly Confusion[] = [
  {
    what: 'a forged x-coalesce-policy, from both',
    callers: [{ headers: { 'x-coalesce-policy': forged } }, { headers: { 'x-coalesce-policy': forged } }],
  },
  {
    what: 'a forged x-coalesce-policy beside a key',
    callers: [withKey('one', { 'x-coalesce-policy': forged }), withKey('two', { 'x-coalesce-policy': forged })],
  },
  {
    what: 'a forged x-coalesce-flight',
    callers: [withKey('one'), withKey('one', { 'x-coalesce-flight': '0123456789abcdef' })],
  },
  {
    what: 'a forged ticket',
    callers: [withKey('one'), withKey('two', { 'x-coalesce-ticket': 't1', 'x-envoy-ticket': 't1' })],
  },
  {
    what: 'forged x-envoy headers',
    callers: [
      withKey('one'),
      withKey('two', { 'x-envoy-original-path': '/', 'x-envoy-peer-metadata': 'one', 'x-envoy-internal': 'true' }),
    ],
  },
  {
    what: 'a forged payload of the token filter',
    callers: [
      tenant({ sub: 'u1' }),
      { headers: { 'x-jwt-payload': Buffer.from('{"sub":"u1"}').toString('base64url') } },
    ],
  },
  {
    what: 'two cookies behind one key',
    callers: [withKey('shared', { cookie: 'session=ann' }), withKey('shared', { cookie: 'session=bob' })],
  },
  { what: 'two keys in the query', callers: [{ query: '?key=one' }, { query: '?key=two' }] },
  {
    what: 'a key in the query twice, from both',
    callers: [{ query: '?key=one&key=two' }, { query: '?key=one&key=two' }],
  },
  { what: 'a key in the query under another spelling', callers: [{ query: '?key=one' }, { query: '?KEY=one' }] },
  { what: 'a key in the query of another’s header', callers: [withKey('one'), withKey('one', {}, '?key=two')] },
  {
    what: 'two routes chosen by a header that is ignored',
    callers: [withKey('one', { 'user-agent': 'blue' }), withKey('one', { 'user-agent': 'red' })],
  },
  {
    what: 'two contexts of retrieval',
    callers: [
      withKey('one', { 'x-coalesce-context': 'sha256:1' }),
      withKey('one', { 'x-coalesce-context': 'sha256:2' }),
    ],
  },
  { what: 'a context of retrieval and none', callers: [withKey('one'), withKey('one', { 'x-coalesce-context': '' })] },
];

export const confusions: readonly Confusion[] = [...claims, ...headers, ...others];

/** Pairs that are one tenant, so that the confusions cannot pass because nothing is ever shared. */
export const controls: readonly Confusion[] = [
  {
    what: 'two tokens of one subject',
    callers: [tenant({ sub: 'u1', jti: '1' }), tenant({ sub: 'u1', jti: '2', aud: 'x' })],
  },
  {
    what: 'one subject of the issuer that signs with ES256',
    callers: [
      { claims: { sub: 'u1', jti: '1' }, issuer: 'b' },
      { claims: { sub: 'u1', jti: '2' }, issuer: 'b' },
    ],
  },
  { what: 'one claim', host: 'claims.test', callers: [team('caf\u00e9'), team('caf\u00e9')] },
  {
    what: 'one nested claim',
    host: 'nested.test',
    callers: [tenant({ tenant: { id: 'acme', x: 1 } }), tenant({ tenant: { id: 'acme', x: 2 } })],
  },
  { what: 'one header', host: 'header.test', callers: [byHeader('acme'), byHeader('acme', 'X-TEAM')] },
  { what: 'one header, spaces around', host: 'header.test', callers: [byHeader('acme'), byHeader(' acme ')] },
  { what: 'one key', callers: [withKey('one', { 'user-agent': 'red' }), withKey('one', { 'user-agent': 'green' })] },
  { what: 'one key in the query', callers: [{ query: '?key=one' }, { query: '?key=one' }] },
  {
    what: 'one access key id behind a gateway that verifies',
    host: 'sigv4.test',
    callers: [aws('AKIAONE', 'a'), aws('AKIAONE', 'b')],
  },
  {
    what: 'one context of retrieval',
    callers: [withKey('one', { 'x-coalesce-context': 'c' }), withKey('one', { 'x-coalesce-context': 'c' })],
  },
];
