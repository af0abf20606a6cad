/** How replies are written: proto-loader, which has the same proto files, reads in them what was meant. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { encodeReply, joinBody, messageIn, type ModeOverride, type Reply } from '../../src/extproc/wire.ts';
import { headerMap, protoCodec, structValue } from '../support/proto-codec.ts';

const codec = protoCodec();

describe('what the processor says', () => {
  test('CONTINUE without a change is an empty reply, encoded once', () => {
    expect(said({ kind: 'continueRequestHeaders' })).toEqual({ request_headers: {} });
    expect(said({ kind: 'continueRequestBody' })).toEqual({ request_body: {} });
    expect(said({ kind: 'continueResponseHeaders' })).toEqual({ response_headers: {} });
    expect(said({ kind: 'continueRequestTrailers' })).toEqual({ request_trailers: {} });
    expect(said({ kind: 'continueResponseBody' })).toEqual({ response_body: {} });
    expect(said({ kind: 'continueResponseTrailers' })).toEqual({ response_trailers: {} });
    expect(encodeReply({ kind: 'continueResponseBody' })).toBe(encodeReply({ kind: 'continueResponseBody' }));
  });

  test.each([
    ['continueRequestHeaders', 'request_headers'],
    ['continueRequestBody', 'request_body'],
    ['continueResponseHeaders', 'response_headers'],
  ] as const)('%s replaces and removes headers', (kind, member) => {
    const removeHeaders = kind === 'continueResponseHeaders' ? {} : { removeHeaders: ['x-a', 'x-b'] };
    const reply = { kind, setHeaders: [['accept-encoding', 'identity'], ['x-raw', 'ÿ']], ...removeHeaders } as const; // prettier-ignore
    const remove_headers = kind === 'continueResponseHeaders' ? {} : { remove_headers: ['x-a', 'x-b'] };
    expect(said(reply)).toEqual({
      [member]: {
        response: {
          header_mutation: {
            set_headers: [replacing('accept-encoding', 'identity'), replacing('x-raw', 'ÿ')],
            ...remove_headers,
          },
        },
      },
    });
  });

  test('a name set twice replaces with its first value and adds the second', () => {
    const setHeaders = [['set-cookie', 'a'], ['x', 'y'], ['set-cookie', 'b']] as const; // prettier-ignore
    expect(said({ kind: 'continueResponseHeaders', setHeaders })).toMatchObject({
      response_headers: {
        response: {
          header_mutation: {
            set_headers: [
              { append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
              { append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
              { append: { value: true } },
            ],
          },
        },
      },
    });
  });

  test.each(['continueRequestHeaders', 'continueRequestBody', 'continueResponseHeaders'] as const)(
    'the metadata of %s is a Struct in the namespace coalesce',
    (kind) => {
      const metadata = { outcome: 'follower', flight: '00af', note: 'é€' };
      expect(metadataOf({ kind, metadata })).toEqual({ coalesce: metadata });
      expect(metadataOf({ kind, metadata: {} })).toEqual({ coalesce: {} });
    },
  );

  const cost = { prompt_tokens: 12, completion_tokens: 2 ** 40 + 1 };
  test.each<Reply>([
    { kind: 'continueResponseBody', metadata: cost },
    { kind: 'continueResponseTrailers', metadata: cost },
    { kind: 'streamBody', bytes: Buffer.from('last'), endOfStream: true, metadata: cost },
    { kind: 'streamTrailers', trailers: [], metadata: cost },
  ])('what an answer cost goes with the last reply as numbers: $kind', (reply) => {
    expect(metadataOf(reply)).toEqual({ coalesce: cost });
  });

  const SKIP_RESPONSE = { response_header_mode: 'SKIP', response_body_mode: 'NONE', response_trailer_mode: 'SKIP' };
  const CAPTURE = { response_header_mode: 'SEND', response_body_mode: 'STREAMED', response_trailer_mode: 'SEND' };
  test.each<[string, ModeOverride, object]>([
    ['nothing', { captureResponse: false }, { request_body_mode: 'NONE', ...SKIP_RESPONSE }],
    [
      'a buffered body',
      { requestBody: 'buffered', captureResponse: false },
      { request_body_mode: 'BUFFERED', ...SKIP_RESPONSE },
    ],
    [
      'a partly buffered body and the response',
      { requestBody: 'buffered_partial', captureResponse: true },
      { request_body_mode: 'BUFFERED_PARTIAL', ...CAPTURE },
    ],
    [
      "the response's head alone",
      { captureResponse: false, responseHeadersOnly: true },
      { request_body_mode: 'NONE', ...SKIP_RESPONSE, response_header_mode: 'SEND' },
    ],
    [
      'the response and its head',
      { captureResponse: true, responseHeadersOnly: true },
      { request_body_mode: 'NONE', ...CAPTURE },
    ],
  ])('a mode override that asks for %s says all six modes', (_name, mode, expected) => {
    expect(said({ kind: 'continueRequestHeaders', mode })).toEqual({
      request_headers: {},
      mode_override: { request_header_mode: 'SEND', request_trailer_mode: 'SKIP', ...expected },
    });
  });

  test('a longer timeout is a duration of its own, rounded up to a millisecond', () => {
    expect(said({ kind: 'extendTimeout', ms: 3_600_000 })).toEqual({
      override_message_timeout: { seconds: 3_600, nanos: 0 },
    });
    expect(said({ kind: 'extendTimeout', ms: 1_250.2 })).toEqual({
      override_message_timeout: { seconds: 1, nanos: 251_000_000 },
    });
  });

  test('an immediate answer has status, headers, body and details', () => {
    const reply: Reply = {
      kind: 'immediate',
      status: 429,
      headers: [['retry-after', '1']],
      body: Buffer.from('{"error":{}}'),
      details: 'coalesce_shed',
      metadata: { outcome: 'shed' },
    };
    expect(said(reply)).toMatchObject({
      immediate_response: {
        status: { code: 429 },
        headers: { set_headers: [replacing('retry-after', '1')] },
        body: Buffer.from('{"error":{}}'),
        details: 'coalesce_shed',
      },
    });
    expect(metadataOf(reply)).toEqual({ coalesce: { outcome: 'shed' } });
  });

  test('a streamed head begins with :status', () => {
    const reply: Reply = { kind: 'streamHead', status: '200', headers: [['date', 'now']], endOfStream: false };
    expect(said(reply)).toEqual({
      streamed_immediate_response: { headers_response: { headers: headerMap([[':status', '200'], ['date', 'now']]) } }, // prettier-ignore
    });
    const last: Reply = { ...reply, headers: [], endOfStream: true, metadata: { outcome: 'follower' } };
    expect(said(last)).toMatchObject({
      streamed_immediate_response: {
        headers_response: { headers: headerMap([[':status', '200']]), end_of_stream: true },
      },
    });
    expect(metadataOf(last)).toEqual({ coalesce: { outcome: 'follower' } });
  });

  test('a streamed body of any size arrives whole', () => {
    for (const size of [0, 1, 127, 128, 16_383, 16_384, 3_000_000]) {
      const bytes = Buffer.alloc(size, 'x');
      const { body, ...end } = streamedBody({ kind: 'streamBody', bytes, endOfStream: true });
      expect([body.equals(bytes), end]).toEqual([true, { end_of_stream: true }]);
    }
    expect(said({ kind: 'streamBody', bytes: Buffer.from('x'), endOfStream: false })).toEqual({
      streamed_immediate_response: { body_response: { body: Buffer.from('x') } },
    });
  });

  test('the same chunk twice in a row is encoded once; another end or another chunk is not confused with it', () => {
    const bytes = Buffer.from('chunk');
    const first = encodeReply({ kind: 'streamBody', bytes, endOfStream: false });
    expect(encodeReply({ kind: 'streamBody', bytes, endOfStream: false })).toBe(first);
    expect(encodeReply({ kind: 'streamBody', bytes, endOfStream: true })).not.toEqual(first);
    const same = Buffer.from('chunk');
    expect(encodeReply({ kind: 'streamBody', bytes: same, endOfStream: true })).not.toBe(first);
    const last = (tokens: number): Reply => {
      return { kind: 'streamBody', bytes, endOfStream: true, metadata: { prompt_tokens: tokens } };
    };
    const encoded = encodeReply(last(1));
    expect(encodeReply(last(1))).toBe(encoded);
    expect(metadataOf(last(2))).toEqual({ coalesce: { prompt_tokens: 2 } });
  });

  test('chunks that were joined are encoded once, in the bytes that hold them', () => {
    const bytes = joinBody([Buffer.from('one'), Buffer.from(''), Buffer.from('two')]);
    expect(Buffer.from(bytes).toString()).toBe('onetwo');
    const frame = encodeReply({ kind: 'streamBody', bytes, endOfStream: false });
    encodeReply({ kind: 'streamBody', bytes: Buffer.from('another'), endOfStream: false });
    expect(encodeReply({ kind: 'streamBody', bytes, endOfStream: false })).toBe(frame);
    expect(bytes.buffer).toBe(frame.buffer);
    expect(streamedBody({ kind: 'streamBody', bytes, endOfStream: false })).toEqual({ body: Buffer.from('onetwo') });
    expect(streamedBody({ kind: 'streamBody', bytes, endOfStream: true })).toEqual({
      body: Buffer.from('onetwo'),
      end_of_stream: true,
    });
  });

  test('each reply comes in its gRPC frame: uncompressed, its length in four bytes', () => {
    for (const size of [0, 300, 70_000]) {
      const frame = encodeReply({ kind: 'streamBody', bytes: Buffer.alloc(size), endOfStream: true });
      expect([frame.readUInt8(0), frame.readUInt32BE(1)]).toEqual([0, frame.length - 5]);
    }
    const fixed = encodeReply({ kind: 'continueResponseBody' });
    expect([fixed.readUInt8(0), fixed.readUInt32BE(1)]).toEqual([0, fixed.length - 5]);
  });

  test('streamed trailers are a header map', () => {
    expect(said({ kind: 'streamTrailers', trailers: [['grpc-status', '0']] })).toEqual({
      streamed_immediate_response: { trailers_response: headerMap([['grpc-status', '0']]) },
    });
    expect(said({ kind: 'streamTrailers', trailers: [] })).toEqual({
      streamed_immediate_response: { trailers_response: {} },
    });
  });

  test('any head of different names decodes to what was encoded', () => {
    const pair = fc.tuple(
      fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/),
      fc.string({ unit: 'binary-ascii', maxLength: 400 }),
    );
    fc.assert(
      fc.property(fc.uniqueArray(pair, { maxLength: 40, selector: ([name]) => name }), (headers) => {
        expect(said({ kind: 'streamHead', status: '200', headers, endOfStream: false })).toEqual({
          streamed_immediate_response: { headers_response: { headers: headerMap([[':status', '200'], ...headers]) } },
        });
      }),
      { numRuns: 60 },
    );
  });
});

/** What proto-loader reads in a reply. */
function said(reply: Reply): object {
  return codec.decodeResponse(messageIn(encodeReply(reply)));
}

function streamedBody(reply: Reply): { body: Buffer } {
  const streamed = said(reply) as { streamed_immediate_response: { body_response: { body: Buffer } } };
  return streamed.streamed_immediate_response.body_response;
}

function metadataOf(reply: Reply): unknown {
  const { dynamic_metadata: bytes } = said(reply) as { dynamic_metadata: Buffer };
  return structValue(bytes);
}

function replacing(key: string, value: string): object {
  return { header: { key, raw_value: Buffer.from(value, 'latin1') }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}
