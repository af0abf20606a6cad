/**
 * Measures three ways to read and write ext_proc messages: the project's own codec, google-protobuf's reader and writer driven
 * by hand, and the codec that proto-loader makes. Prints a table in Markdown; docs/decisions/0001-wire-codec.md has its
 * conclusions. Run: `npm run bench -- --codec`.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import structProto from 'google-protobuf/google/protobuf/struct_pb.js';

import { repositoryRoot } from '../../harness/root.ts';
import type { HeaderList } from '../../src/coalesce/request/head.ts';
import { decodeMessage, encodeReply } from '../../src/extproc/wire.ts';
import {
  decodeByGoogleProtobuf,
  encodeChunkByGoogleProtobuf,
  encodeContinueByGoogleProtobuf,
  encodeHeadByGoogleProtobuf,
} from './google-protobuf.ts';

const ROUNDS = 5;
const ROUND_MS = 150;
/** Bodies of an exchange: chunks that a follower is sent. */
const CHUNKS = 50;

type Contender = 'own' | 'google-protobuf' | 'proto-loader';
type Step = Record<Contender, () => unknown>;

const loader = loadCodec();
const requestHead = loader.encode({
  request_headers: { headers: wireHeaders(fortyHeaders()) },
  metadata_context: { filter_metadata: { 'envoy.filters.http.jwt_authn': struct({ payload: claims() }) } },
  attributes: { 'envoy.filters.http.ext_proc': struct({ 'xds.route_name': 'llm', 'xds.cluster_name': 'openai' }) },
});
const requestBody = loader.encode({ request_body: { body: Buffer.alloc(2_048, 'x'), end_of_stream: true } });
// In the order of the names, as google-protobuf writes a map, so that the replies can be compared.
const metadata = { flight: '00af13c2', outcome: 'follower', ticket: `t${'0'.repeat(32)}` };
const answerHead = fortyHeaders().slice(5, 25);
const chunk: Buffer = Buffer.alloc(200, 'data: {"choices":[{"delta":{"content":"token"}}]}\n\n');

const steps: Record<string, Step> = {
  'read the request head (40 headers, metadata, attributes)': {
    own: () => decodeMessage(requestHead),
    'google-protobuf': () => decodeByGoogleProtobuf(requestHead),
    'proto-loader': () => headersOf(loader.decode(requestHead)),
  },
  'read the request body (2 KiB)': {
    own: () => decodeMessage(requestBody),
    'google-protobuf': () => decodeByGoogleProtobuf(requestBody),
    'proto-loader': () => loader.decode(requestBody),
  },
  'write CONTINUE with metadata and modes': {
    own: () =>
      encodeReply({
        kind: 'continueRequestHeaders',
        metadata,
        mode: { requestBody: 'buffered', captureResponse: true },
      }),
    'google-protobuf': () => encodeContinueByGoogleProtobuf(1, metadata, true),
    'proto-loader': () =>
      loader.encodeReply({
        request_headers: {},
        dynamic_metadata: struct({ coalesce: metadata }),
        mode_override: MODES,
      }),
  },
  'write CONTINUE with metadata': {
    own: () => encodeReply({ kind: 'continueRequestBody', metadata }),
    'google-protobuf': () => encodeContinueByGoogleProtobuf(3, metadata, false),
    'proto-loader': () => loader.encodeReply({ request_body: {}, dynamic_metadata: struct({ coalesce: metadata }) }),
  },
  'write a streamed head (20 headers)': {
    own: () => encodeReply({ kind: 'streamHead', status: '200', headers: answerHead, endOfStream: false }),
    'google-protobuf': () => encodeHeadByGoogleProtobuf([[':status', '200'], ...answerHead]),
    'proto-loader': () =>
      loader.encodeReply({
        streamed_immediate_response: {
          headers_response: { headers: wireHeaders([[':status', '200'], ...answerHead]) },
        },
      }),
  },
  'write a chunk (200 bytes, never the one before)': {
    // A view of its own, so that the codec's memory of the last chunk does not help.
    own: () => encodeReply({ kind: 'streamBody', bytes: chunk.subarray(), endOfStream: false }),
    'google-protobuf': () => encodeChunkByGoogleProtobuf(chunk),
    'proto-loader': () => loader.encodeReply({ streamed_immediate_response: { body_response: { body: chunk } } }),
  },
};

const MODES = {
  request_header_mode: 'SEND',
  response_header_mode: 'SEND',
  request_body_mode: 'BUFFERED',
  response_body_mode: 'STREAMED',
  request_trailer_mode: 'SKIP',
  response_trailer_mode: 'SEND',
};

const CONTENDERS: readonly Contender[] = ['own', 'google-protobuf', 'proto-loader'];

checkAgreement();
report();

/** A contender that reads or writes something else would win for the wrong reason. */
function checkAgreement(): void {
  for (const [name, step] of Object.entries(steps)) {
    if (!name.startsWith('write')) continue;
    const meant = CONTENDERS.map((contender) => loader.decodeReply(step[contender]() as Buffer));
    deepStrictEqual(meant[1], meant[0], `google-protobuf: ${name}`);
    deepStrictEqual(meant[2], meant[0], `proto-loader: ${name}`);
  }
  deepStrictEqual(decodeByGoogleProtobuf(requestHead).headers, fortyHeaders());
  deepStrictEqual(headersOf(loader.decode(requestHead)), fortyHeaders());
}

function report(): void {
  console.log(
    `Node ${process.version}, ${cpus()[0]?.model ?? 'unknown CPU'}; µs, best of ${ROUNDS} interleaved rounds.\n`,
  );
  console.log(`| step | ${CONTENDERS.join(' | ')} |\n|---|---:|---:|---:|`);
  const whole = CONTENDERS.map(() => 0);
  for (const [name, step] of Object.entries(steps)) {
    const costs = measure(step);
    const times = name.startsWith('write a chunk') ? CHUNKS : 1;
    costs.forEach((cost, index) => (whole[index] = (whole[index] ?? 0) + cost * times));
    console.log(row(name, costs));
  }
  console.log(row(`one exchange: each step once, ${CHUNKS} chunks`, whole));
}

function row(name: string, costs: readonly number[]): string {
  return `| ${name} | ${costs.map((cost) => cost.toFixed(2)).join(' | ')} |`;
}

/** The cost of one call in µs, for each contender: the best round, which other load on the machine disturbs least. */
function measure(step: Step): number[] {
  const best = CONTENDERS.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round += 1) {
    CONTENDERS.forEach((contender, index) => {
      best[index] = Math.min(best[index] ?? Number.POSITIVE_INFINITY, costOf(step[contender]));
    });
  }
  return best;
}

function costOf(call: () => unknown): number {
  const start = performance.now();
  let calls = 0;
  let elapsed = 0;
  while (elapsed < ROUND_MS) {
    for (let index = 0; index < 100; index += 1) call();
    calls += 100;
    elapsed = performance.now() - start;
  }
  return (elapsed * 1_000) / calls;
}

interface LoaderCodec {
  readonly encode: (request: object) => Buffer;
  readonly decode: (bytes: Buffer) => object;
  readonly encodeReply: (reply: object) => Buffer;
  readonly decodeReply: (bytes: Buffer) => object;
}

function loadCodec(): LoaderCodec {
  const definitions = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
    includeDirs: [join(repositoryRoot, 'proto')],
    keepCase: true,
    longs: Number,
    enums: String,
  });
  const request = definitions['envoy.service.ext_proc.v3.ProcessingRequest'] as MessageTypeDefinition<object, object>;
  const reply = definitions['envoy.service.ext_proc.v3.ProcessingResponse'] as MessageTypeDefinition<object, object>;
  return {
    encode: request.serialize,
    decode: request.deserialize,
    encodeReply: reply.serialize,
    decodeReply: reply.deserialize,
  };
}

/** The form that the machine works on; part of what this contender costs. */
function headersOf(message: object): [string, string][] {
  const { request_headers: head } = message as {
    request_headers: { headers: { headers: { key: string; raw_value: Buffer }[] } };
  };
  return head.headers.headers.map(({ key, raw_value: value }) => [key, value.toString('latin1')]);
}

function wireHeaders(headers: HeaderList): object {
  return { headers: headers.map(([key, value]) => ({ key, raw_value: Buffer.from(value, 'latin1') })) };
}

/** Four pseudo-headers, a bearer token of 900 bytes and 35 headers of common length. */
function fortyHeaders(): [string, string][] {
  const headers: [string, string][] = [
    [':authority', 'api.example.com'],
    [':path', '/v1/chat/completions'],
    [':method', 'POST'],
    [':scheme', 'https'],
    ['authorization', `Bearer ${'k'.repeat(900)}`],
  ];
  for (let index = 0; index < 35; index += 1)
    headers.push([`x-stainless-name-${index}`, 'value '.repeat(1 + (index % 9))]);
  return headers;
}

function claims(): Record<string, string | number | boolean | string[]> {
  return {
    iss: 'https://issuer.example.com/',
    sub: 'auth0|5f7c8ec7c33c6c004bbafe82',
    aud: ['https://api.example.com', 'https://issuer.example.com/userinfo'],
    iat: 1_700_000_000,
    exp: 1_700_086_400,
    scope: 'openid profile email',
    email_verified: true,
  };
}

function struct(value: Parameters<typeof structProto.Struct.fromJavaScript>[0]): Uint8Array {
  return structProto.Struct.fromJavaScript(value).serializeBinary();
}
