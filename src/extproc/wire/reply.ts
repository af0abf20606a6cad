/**
 * What the processor says on an ext_proc stream (`ProcessingResponse`): plain data in, bytes out. Owns the field numbers that
 * are written. When a reply is due, and which, is the exchange machine's.
 */
import type { HeaderList } from '../../coalesce/request/head.ts';
import { bytesOfHeaders, writeHeaderMap, writeHeaderMutation } from './header-fields.ts';
import { writeMode, type ModeOverride } from './mode-override.ts';
import { METADATA_ROOM, writeMetadata, type Metadata } from './protobuf/dynamic-metadata.ts';
import { delimitedTag, varintTag } from './protobuf/proto-reader.ts';
import { frameOf, ProtoWriter } from './protobuf/proto-writer.ts';
import { encodeStreamBody, STREAMED_IMMEDIATE_RESPONSE } from './streamed-body.ts';

/**
 * One message to Envoy. `metadata` that is not empty becomes dynamic metadata, for filters and access logs. `setHeaders`
 * replace what is there under their names; header values hold one byte in each UTF-16 unit.
 */
export type Reply =
  | {
      readonly kind: 'continueRequestHeaders';
      readonly metadata?: Metadata;
      readonly mode?: ModeOverride;
      readonly setHeaders?: HeaderList;
      readonly removeHeaders?: readonly string[];
    }
  | {
      readonly kind: 'continueRequestBody';
      readonly metadata?: Metadata;
      readonly setHeaders?: HeaderList;
      readonly removeHeaders?: readonly string[];
    }
  | { readonly kind: 'continueRequestTrailers' }
  | {
      readonly kind: 'continueResponseHeaders';
      readonly metadata?: Metadata;
      readonly mode?: ModeOverride;
      readonly setHeaders?: HeaderList;
      readonly removeHeaders?: readonly string[];
    }
  | { readonly kind: 'continueResponseBody'; readonly metadata?: Metadata }
  | { readonly kind: 'continueResponseTrailers'; readonly metadata?: Metadata }
  /** Lengthens the running message_timeout to `ms` from now; Envoy caps it at its `max_message_timeout`. */
  | { readonly kind: 'extendTimeout'; readonly ms: number }
  | {
      readonly kind: 'immediate';
      readonly status: number;
      readonly headers: HeaderList;
      readonly body: Uint8Array;
      /** For `%RESPONSE_CODE_DETAILS%` in access logs. */
      readonly details: string;
      readonly metadata?: Metadata;
    }
  | {
      readonly kind: 'streamHead';
      readonly status: string;
      readonly headers: HeaderList;
      readonly endOfStream: boolean;
      readonly metadata?: Metadata;
    }
  | {
      readonly kind: 'streamBody';
      readonly bytes: Uint8Array;
      readonly endOfStream: boolean;
      readonly metadata?: Metadata;
    }
  | { readonly kind: 'streamTrailers'; readonly trailers: HeaderList; readonly metadata?: Metadata };

/** One reply, in its gRPC frame. The bytes may be shared with other exchanges, and are never written to. */
export function encodeReply(reply: Reply): Buffer {
  switch (reply.kind) {
    case 'continueRequestHeaders':
      return encodeContinue(RESPONSE.requestHeaders, reply);
    case 'continueRequestBody':
      return encodeContinue(RESPONSE.requestBody, reply);
    case 'continueResponseHeaders':
      return encodeContinue(RESPONSE.responseHeaders, reply);
    case 'continueRequestTrailers':
      return CONTINUE_REQUEST_TRAILERS;
    case 'continueResponseBody':
      return reply.metadata === undefined ? CONTINUE_RESPONSE_BODY : encodeContinue(RESPONSE.responseBody, reply);
    case 'continueResponseTrailers':
      return reply.metadata === undefined
        ? CONTINUE_RESPONSE_TRAILERS
        : encodeContinue(RESPONSE.responseTrailers, reply);
    case 'extendTimeout':
      return encodeTimeout(reply.ms);
    case 'immediate':
      return encodeImmediate(reply);
    case 'streamHead':
      return encodeStreamHead(reply);
    case 'streamBody':
      return encodeStreamBody(reply);
    case 'streamTrailers':
      return encodeStreamTrailers(reply);
  }
}

interface Continue {
  readonly metadata?: Metadata;
  readonly mode?: ModeOverride;
  readonly setHeaders?: HeaderList;
  readonly removeHeaders?: readonly string[];
}

/** envoy.service.ext_proc.v3.ProcessingResponse */
const RESPONSE = {
  requestHeaders: delimitedTag(1),
  responseHeaders: delimitedTag(2),
  requestBody: delimitedTag(3),
  responseBody: delimitedTag(4),
  requestTrailers: delimitedTag(5),
  responseTrailers: delimitedTag(6),
  immediateResponse: delimitedTag(7),
  modeOverride: delimitedTag(9),
  overrideMessageTimeout: delimitedTag(10),
  streamedImmediateResponse: STREAMED_IMMEDIATE_RESPONSE,
};

const CONTINUE_REQUEST_TRAILERS: Buffer = frameOf([RESPONSE.requestTrailers, 0]);
const CONTINUE_RESPONSE_BODY: Buffer = frameOf([RESPONSE.responseBody, 0]);
const CONTINUE_RESPONSE_TRAILERS: Buffer = frameOf([RESPONSE.responseTrailers, 0]);

/** HeadersResponse and BodyResponse alike: a CommonResponse, whose status CONTINUE is the default. */
const RESPONSE_COMMON: number = delimitedTag(1);
const COMMON_HEADER_MUTATION: number = delimitedTag(2);

function encodeContinue(member: number, { metadata, mode, setHeaders = [], removeHeaders = [] }: Continue): Buffer {
  const writer = new ProtoWriter(roomFor(setHeaders) + (mode === undefined ? 0 : SMALL_ROOM));
  if (mode !== undefined) writeMode(writer, RESPONSE.modeOverride, mode);
  writeMetadata(writer, metadata);
  writer.message(member, () => {
    if (setHeaders.length + removeHeaders.length === 0) return;
    writer.message(RESPONSE_COMMON, () => {
      writeHeaderMutation(writer, COMMON_HEADER_MUTATION, { set: setHeaders, remove: removeHeaders });
    });
  });
  return writer.finishFrame();
}

/** google.protobuf.Duration */
const DURATION = { seconds: varintTag(1), nanos: varintTag(2) };

function encodeTimeout(ms: number): Buffer {
  const whole = Math.ceil(ms);
  const writer = new ProtoWriter(SMALL_ROOM);
  writer.message(RESPONSE.overrideMessageTimeout, () => {
    writer.varint(DURATION.nanos, (whole % 1_000) * 1_000_000);
    writer.varint(DURATION.seconds, Math.floor(whole / 1_000));
  });
  return writer.finishFrame();
}

/** ImmediateResponse, and HttpStatus within it. */
const IMMEDIATE = {
  status: delimitedTag(1),
  headers: delimitedTag(2),
  body: delimitedTag(3),
  details: delimitedTag(5),
};
const HTTP_STATUS_CODE: number = varintTag(1);

function encodeImmediate(reply: Extract<Reply, { kind: 'immediate' }>): Buffer {
  const writer = new ProtoWriter(roomFor(reply.headers) + reply.body.byteLength);
  writeMetadata(writer, reply.metadata);
  writer.message(RESPONSE.immediateResponse, () => {
    writer.utf8(IMMEDIATE.details, reply.details);
    writer.bytes(IMMEDIATE.body, reply.body);
    writeHeaderMutation(writer, IMMEDIATE.headers, { set: reply.headers });
    writer.message(IMMEDIATE.status, () => writer.varint(HTTP_STATUS_CODE, reply.status));
  });
  return writer.finishFrame();
}

/** StreamedImmediateResponse */
const STREAMED = { head: delimitedTag(1), trailers: delimitedTag(3) };
/** HttpHeaders */
const HTTP_HEADERS = { headers: delimitedTag(1), endOfStream: varintTag(3) };

function encodeStreamHead(reply: Extract<Reply, { kind: 'streamHead' }>): Buffer {
  const writer = new ProtoWriter(roomFor(reply.headers));
  writer.message(RESPONSE.streamedImmediateResponse, () => {
    writer.message(STREAMED.head, () => {
      if (reply.endOfStream) writer.varint(HTTP_HEADERS.endOfStream, 1);
      writeHeaderMap(writer, HTTP_HEADERS.headers, [[':status', reply.status], ...reply.headers]);
    });
  });
  writeMetadata(writer, reply.metadata);
  return writer.finishFrame();
}

function encodeStreamTrailers({ trailers, metadata }: Extract<Reply, { kind: 'streamTrailers' }>): Buffer {
  const writer = new ProtoWriter(roomFor(trailers));
  writer.message(RESPONSE.streamedImmediateResponse, () => {
    writeHeaderMap(writer, STREAMED.trailers, trailers);
  });
  writeMetadata(writer, metadata);
  return writer.finishFrame();
}

/** Spares most replies without metadata a second allocation. */
const SMALL_ROOM = 32;

function roomFor(headers: HeaderList): number {
  return METADATA_ROOM + bytesOfHeaders(headers);
}
