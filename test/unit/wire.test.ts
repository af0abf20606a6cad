/** How Envoy's messages are read: in agreement with proto-loader, which has the same proto files, and whatever the bytes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { decodeMessage, type EnvoyMessage } from '../../src/extproc/wire.ts';
import { headerMap, protoCodec, structBytes } from '../support/proto-codec.ts';

const codec = protoCodec();

describe('what Envoy says', () => {
  test('request headers come with the pseudo-headers apart and the others in order', () => {
    const message = decode('requestHeaders', {
      request_headers: {
        headers: headerMap([
          [':authority', 'api.example'],
          [':path', '/v1/chat/completions?a=b'],
          [':method', 'POST'],
          [':scheme', 'https'],
          ['content-type', 'application/json'],
          ['x-twice', 'one'],
          ['x-twice', ''],
        ]),
      },
    });
    expect(message.head).toEqual({
      method: 'POST',
      scheme: 'https',
      authority: 'api.example',
      path: '/v1/chat/completions?a=b',
      protocol: null,
      headers: [
        ['content-type', 'application/json'],
        ['x-twice', 'one'],
        ['x-twice', ''],
      ],
    });
    expect(message).toMatchObject({ endOfStream: false, observability: false });
    expect([message.attributes.has(), message.metadata.has()]).toEqual([false, false]);
  });

  test('a head without pseudo-headers has empty ones, and an upgrade has its protocol', () => {
    const bare = decode('requestHeaders', { request_headers: { end_of_stream: true }, observability_mode: true });
    expect(bare.head).toEqual({ method: '', scheme: '', authority: '', path: '', protocol: null, headers: [] });
    expect(bare).toMatchObject({ endOfStream: true, observability: true });
    const upgrade = decode('requestHeaders', { request_headers: { headers: headerMap([[':protocol', 'websocket']]) } });
    expect(upgrade.head.protocol).toBe('websocket');
  });

  test('a header value keeps every byte, from raw_value and from value', () => {
    const raw = decode('requestHeaders', {
      request_headers: { headers: { headers: [{ key: 'x', raw_value: Buffer.from([0x41, 0xff, 0x80]) }] } },
    });
    expect(raw.head.headers).toEqual([['x', 'A\u00ff\u0080']]);
    const text = decode('requestHeaders', { request_headers: { headers: { headers: [{ key: 'x', value: 'é' }] } } });
    expect(text.head.headers).toEqual([['x', '\u00c3\u00a9']]);
  });

  test('request bodies and trailers', () => {
    const body = decode('requestBody', { request_body: { body: Buffer.from('{}'), end_of_stream: true } });
    expect(Buffer.from(body.body).toString()).toBe('{}');
    expect(body.endOfStream).toBe(true);
    const empty = decode('requestBody', { request_body: {} });
    expect([empty.body.byteLength, empty.endOfStream]).toEqual([0, false]);
    const request = { request_trailers: { trailers: headerMap([['x', 'y']]) } };
    expect(decodeMessage(codec.encodeRequest(request))).toEqual({ kind: 'requestTrailers' });
  });

  test('response headers, bodies and trailers', () => {
    const headers = decode('responseHeaders', {
      response_headers: { headers: headerMap([[':status', '204'], ['date', 'today']]), end_of_stream: true }, // prettier-ignore
      attributes: { 'envoy.filters.http.ext_proc': structBytes({ 'response.code': 204 }) },
    });
    expect(headers).toMatchObject({ status: '204', headers: [['date', 'today']], endOfStream: true });
    expect(headers.attributes.get('envoy.filters.http.ext_proc')).toEqual({ 'response.code': 204 });
    const body = decode('responseBody', { response_body: { body: Buffer.from('data: x\n\n') } });
    expect([Buffer.from(body.body).toString(), body.endOfStream]).toEqual(['data: x\n\n', false]);
    const trailers = decode('responseTrailers', { response_trailers: { trailers: headerMap([['grpc-status', '0']]) } });
    expect(trailers.trailers).toEqual([['grpc-status', '0']]);
    const none = decode('responseTrailers', { response_trailers: {} });
    expect(none.trailers).toEqual([]);
  });

  test('attributes and metadata are plain values by name', () => {
    const claims = { payload: { iss: 'https://issuer', sub: 'u1', admin: false, roles: ['a', 1.5, null] } };
    const message = decode('requestHeaders', {
      request_headers: {},
      attributes: { 'envoy.filters.http.ext_proc': structBytes({ 'xds.route_name': 'llm' }) },
      metadata_context: { filter_metadata: { 'envoy.filters.http.jwt_authn': structBytes(claims), empty: '' } },
    });
    expect(message.attributes.has()).toBe(true);
    expect(message.attributes.get('envoy.filters.http.ext_proc')).toEqual({ 'xds.route_name': 'llm' });
    expect(message.attributes.get('empty')).toBeUndefined();
    expect(message.metadata.get('envoy.filters.http.jwt_authn')).toEqual(claims);
    expect(message.metadata.get('empty')).toEqual({});
    expect(message.metadata.get('absent')).toBeUndefined();
  });

  test('a Struct that cannot be decoded is undefined, and its neighbours are not', () => {
    const message = decode('requestHeaders', {
      request_headers: {},
      metadata_context: {
        filter_metadata: {
          truncated: structBytes({ a: 'b' }).subarray(0, -1),
          valueless: Buffer.from('0a030a0161', 'hex'),
          good: structBytes({ a: 1 }),
        },
      },
    });
    expect(message.metadata.get('truncated')).toBeUndefined();
    expect(message.metadata.get('valueless')).toBeUndefined();
    expect(message.metadata.get('good')).toEqual({ a: 1 });
  });

  test('a Struct nested beyond the stack is undefined', () => {
    let value: Buffer = Buffer.from([0x08, 0]);
    const wrap = (tag: number, bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from([tag]), varint(bytes.length), bytes]);
    for (let depth = 0; depth < 3_000; depth += 1) value = wrap(0x32, wrap(0x0a, value));
    const struct = wrap(0x0a, Buffer.concat([Buffer.from([0x0a, 1, 0x61]), wrap(0x12, value)]));
    const message = decode('requestHeaders', {
      request_headers: {},
      metadata_context: { filter_metadata: { deep: struct } },
    });
    expect(() => message.metadata.get('deep')).not.toThrow();
  });

  test('a field named __proto__ is left out and changes no prototype', () => {
    const value = { proto__xx: { sub: 'forged' }, iss: 'i' };
    const struct = Buffer.from(structBytes(value).toString('latin1').replace('proto__xx', '__proto__'), 'latin1');
    const message = decode('requestHeaders', { request_headers: {}, attributes: { a: struct } });
    const decoded = message.attributes.get('a');
    expect(decoded).toEqual({ iss: 'i' });
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
  });

  test('of two structs with one name the later counts', () => {
    const [first, second] = [{ n: 1 }, { n: 2 }].map((value) => codec.encodeRequest({ attributes: { a: structBytes(value) } })); // prettier-ignore
    const bytes = Buffer.concat([codec.encodeRequest({ request_headers: {} }), first ?? NONE, second ?? NONE]);
    const message = decodeMessage(bytes);
    expect(message.kind === 'requestHeaders' && message.attributes.get('a')).toEqual({ n: 2 });
  });

  test('a body is a view into the message', () => {
    const bytes = codec.encodeRequest({ response_body: { body: Buffer.from('abc') } });
    const message = decodeMessage(bytes);
    expect(message.kind === 'responseBody' && message.body.buffer).toBe(bytes.buffer);
  });

  test('any request decodes to what proto-loader was given', () => {
    const pair = fc.tuple(fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/), fc.uint8Array({ maxLength: 300 }));
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 30 }), fc.boolean(), (fields, end) => {
        const headers = fields.map(([key, value]) => ({ key, raw_value: Buffer.from(value) }));
        const message = decode('requestHeaders', { request_headers: { headers: { headers }, end_of_stream: end } });
        const expected = fields.map(([key, value]) => [key, Buffer.from(value).toString('latin1')]);
        expect(message.head.headers).toEqual(expected);
        expect(message.endOfStream).toBe(end);
      }),
      { numRuns: 60 },
    );
  });
});

describe('what Envoy says that is not understood', () => {
  const known = codec.encodeRequest(sampleRequest());

  test('fields of a newer Envoy are passed over, at every depth and in every wire type', () => {
    const unknown = [12, 13, 14, 15, 16, 500].flatMap((field) => unknownFields(field));
    const plain = decodeMessage(known);
    for (const extra of unknown) {
      expect(comparable(decodeMessage(Buffer.concat([extra, known])))).toEqual(comparable(plain));
      expect(comparable(decodeMessage(Buffer.concat([known, extra])))).toEqual(comparable(plain));
    }
    const nested = (content: Buffer): Buffer => Buffer.concat([Buffer.from([0x22]), varint(content.length), content]);
    for (const extra of unknown) {
      const body = decodeMessage(
        nested(Buffer.concat([Buffer.from('0a0178', 'hex'), extra, Buffer.from('1001', 'hex')])),
      );
      expect(comparable(body)).toEqual({ kind: 'requestBody', body: 'x', endOfStream: true });
    }
  });

  test('a message with no known member is malformed', () => {
    const why = 'no known member of the request';
    expect(decodeMessage(NONE)).toEqual({ kind: 'malformed', why });
    expect(decodeMessage(codec.encodeRequest({ protocol_config: { request_body_mode: 'BUFFERED' } }))).toEqual({
      kind: 'malformed',
      why,
    });
    expect(decodeMessage(Buffer.from('9a0100', 'hex'))).toEqual({ kind: 'malformed', why });
  });

  test.each([
    ['a tag without its value', '22', 'truncated varint'],
    ['a length beyond the message', '220a00', 'length beyond the message'],
    ['a field that outruns the message that holds it', '22030a0561621001', 'length beyond the message'],
    ['a varint without end', '2200' + 'ff'.repeat(11), 'varint over ten bytes'],
    ['field number 0', '22000000', 'field number 0'],
    ['a group', '22006b6c', 'wire type 3'],
    ['a length of 2^64 - 1', '22ffffffffffffffffff01', 'length beyond the message'],
  ])('%s is malformed', (_name, hex, why) => {
    expect(decodeMessage(Buffer.from(hex, 'hex'))).toEqual({ kind: 'malformed', why });
  });

  test('a message cut anywhere decodes to something and never throws', () => {
    for (let length = 0; length < known.length; length += 1) touch(decodeMessage(known.subarray(0, length)));
  });

  test('changed bytes never throw', () => {
    const change = fc.tuple(fc.nat(known.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const bytes = Buffer.from(known);
        for (const [index, byte] of changes) bytes[index] = byte;
        touch(decodeMessage(bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  test('any bytes at all never throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => touch(decodeMessage(bytes))),
      { numRuns: 2_000 },
    );
  });
});

const NONE: Buffer = Buffer.alloc(0);

/** Decodes a request that proto-loader encoded, which is to be of this kind. */
function decode<Kind extends EnvoyMessage['kind']>(kind: Kind, request: object): Extract<EnvoyMessage, { kind: Kind }> {
  const message = decodeMessage(codec.encodeRequest(request));
  if (message.kind !== kind) throw new Error(`decoded as ${JSON.stringify(message)}`);
  return message as Extract<EnvoyMessage, { kind: Kind }>;
}

function sampleRequest(): object {
  return {
    request_headers: { headers: headerMap([[':method', 'POST'], ['a', 'b'.repeat(200)]]), end_of_stream: true }, // prettier-ignore
    attributes: { 'envoy.filters.http.ext_proc': structBytes({ 'xds.route_name': 'llm' }) },
    metadata_context: { filter_metadata: { jwt: structBytes({ payload: { sub: 'u', n: [1, null, true] } }) } },
    observability_mode: true,
    protocol_config: { request_body_mode: 'BUFFERED' },
  };
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  return Buffer.from([...bytes, rest]);
}

/** A field of that number in each wire type that proto3 has. */
function unknownFields(field: number): Buffer[] {
  const contents = ['ffffffff0f', '0102030405060708', '03616263', '', '', '01020304'].map((hex) =>
    Buffer.from(hex, 'hex'),
  );
  return [0, 1, 2, 5].map((wire) => Buffer.concat([varint(field * 8 + wire), contents[wire] ?? NONE]));
}

/** A message with what is lazy or bytes in it made visible. */
function comparable(message: EnvoyMessage): object {
  if (message.kind === 'requestBody') return { ...message, body: Buffer.from(message.body).toString('latin1') };
  if (message.kind !== 'requestHeaders') return message;
  const { attributes, metadata } = message;
  return { ...message, attributes: attributes.get('envoy.filters.http.ext_proc'), metadata: metadata.get('jwt') };
}

/** Looks at everything in a message that is decoded on demand. */
function touch(message: EnvoyMessage): void {
  if (message.kind !== 'requestHeaders') return;
  message.attributes.get('envoy.filters.http.ext_proc');
  message.metadata.get('jwt');
}
