/**
 * What Envoy sends on an ext_proc stream (`ProcessingRequest`), as plain data. Owns the field numbers that are read; fields
 * that are not known, of this Envoy or of a newer one, are passed over.
 */
import type { HeaderList } from '../../coalesce/request/head.ts';
import { lazyStructs, type LazyStructs } from './protobuf/lazy-structs.ts';
import { ProtoReader, delimitedTag, varintTag } from './protobuf/proto-reader.ts';

/** One message from Envoy. `malformed` stands for bytes that are no ProcessingRequest, or one that says nothing known. */
export type EnvoyMessage =
  | {
      readonly kind: 'requestHeaders';
      readonly head: WireHead;
      readonly endOfStream: boolean;
      /** By filter name: `envoy.filters.http.ext_proc` holds the `request_attributes`. */
      readonly attributes: LazyStructs;
      /** Dynamic metadata of other filters, by namespace. */
      readonly metadata: LazyStructs;
      /** Envoy ignores every reply. */
      readonly observability: boolean;
    }
  | { readonly kind: 'requestBody'; readonly body: Uint8Array; readonly endOfStream: boolean }
  | { readonly kind: 'requestTrailers' }
  | {
      readonly kind: 'responseHeaders';
      readonly headers: HeaderList;
      readonly status: string;
      readonly endOfStream: boolean;
      readonly attributes: LazyStructs;
    }
  | { readonly kind: 'responseBody'; readonly body: Uint8Array; readonly endOfStream: boolean }
  | { readonly kind: 'responseTrailers'; readonly trailers: HeaderList }
  | { readonly kind: 'malformed'; readonly why: string };

/** A request's head, the pseudo-headers apart. One that is missing is '' (`protocol`: null). */
export interface WireHead {
  readonly method: string;
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
  /** `:protocol` of an extended CONNECT or an upgrade. */
  readonly protocol: string | null;
  readonly headers: HeaderList;
}

/**
 * The message in these bytes. Never throws. A `body`, the attributes and the metadata are views into `bytes`: who keeps one
 * keeps the whole gRPC message alive, and copies it where that is too much.
 */
export function decodeMessage(bytes: Uint8Array): EnvoyMessage {
  const reader = new ProtoReader(bytes);
  const envelope = readEnvelope(reader);
  if (reader.fault !== null) return { kind: 'malformed', why: reader.fault };
  const { content } = envelope;
  if (content === null) return { kind: 'malformed', why: 'no known member of the request' };
  switch (content.kind) {
    case 'requestHeaders':
      return requestHeaders(content.section, envelope);
    case 'responseHeaders':
      return responseHeaders(content.section, envelope);
    case 'responseTrailers':
      return { kind: 'responseTrailers', trailers: content.section.headers };
    case 'requestBody':
    case 'responseBody':
    case 'requestTrailers':
      return content;
  }
}

type Content =
  | { kind: 'requestHeaders' | 'responseHeaders' | 'responseTrailers'; section: HeaderSection }
  | { kind: 'requestBody' | 'responseBody'; body: Uint8Array; endOfStream: boolean }
  | { kind: 'requestTrailers' };

interface Envelope {
  content: Content | null;
  metadata: Uint8Array[];
  attributes: Uint8Array[];
  observability: boolean;
}

interface HeaderSection {
  pseudo: Map<string, string>;
  headers: [string, string][];
  endOfStream: boolean;
}

/** envoy.service.ext_proc.v3.ProcessingRequest */
const REQUEST = {
  requestHeaders: delimitedTag(2),
  responseHeaders: delimitedTag(3),
  requestBody: delimitedTag(4),
  responseBody: delimitedTag(5),
  requestTrailers: delimitedTag(6),
  responseTrailers: delimitedTag(7),
  metadataContext: delimitedTag(8),
  attributes: delimitedTag(9),
  observabilityMode: varintTag(10),
};

function readEnvelope(reader: ProtoReader): Envelope {
  const envelope: Envelope = { content: null, metadata: [], attributes: [], observability: false };
  while (reader.more()) {
    const tag = reader.varint();
    if (tag === REQUEST.metadataContext) readMetadata(reader, envelope.metadata);
    else if (tag === REQUEST.attributes) envelope.attributes.push(reader.bytes());
    else if (tag === REQUEST.observabilityMode) envelope.observability = reader.varint() !== 0;
    else envelope.content = readContent(reader, tag) ?? envelope.content;
  }
  return envelope;
}

/** The member of the oneof that this tag begins; any other field is skipped. */
function readContent(reader: ProtoReader, tag: number): Content | null {
  switch (tag) {
    case REQUEST.requestHeaders:
      return { kind: 'requestHeaders', section: readHeaderSection(reader) };
    case REQUEST.responseHeaders:
      return { kind: 'responseHeaders', section: readHeaderSection(reader) };
    case REQUEST.requestBody:
      return { kind: 'requestBody', ...readBody(reader) };
    case REQUEST.responseBody:
      return { kind: 'responseBody', ...readBody(reader) };
    case REQUEST.requestTrailers:
      reader.skip(tag);
      return { kind: 'requestTrailers' };
    case REQUEST.responseTrailers:
      return { kind: 'responseTrailers', section: readHeaderSection(reader) };
    default:
      reader.skip(tag);
      return null;
  }
}

/** HttpHeaders, and HttpTrailers too, which has the first field only. */
const HTTP_HEADERS = { headers: delimitedTag(1), endOfStream: varintTag(3) };

function readHeaderSection(reader: ProtoReader): HeaderSection {
  const section: HeaderSection = { pseudo: new Map(), headers: [], endOfStream: false };
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.varint();
    if (tag === HTTP_HEADERS.headers) readHeaderMap(reader, section);
    else if (tag === HTTP_HEADERS.endOfStream) section.endOfStream = reader.varint() !== 0;
    else reader.skip(tag);
  }
  reader.leave(outer);
  return section;
}

/** envoy.config.core.v3.HeaderMap */
const HEADER_MAP_HEADERS: number = delimitedTag(1);

function readHeaderMap(reader: ProtoReader, section: HeaderSection): void {
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.varint();
    if (tag === HEADER_MAP_HEADERS) readHeaderValue(reader, section);
    else reader.skip(tag);
  }
  reader.leave(outer);
}

/**
 * envoy.config.core.v3.HeaderValue. Envoy fills `raw_value`, or `value` where the runtime flag
 * `envoy.reloadable_features.send_header_raw_value` is off; the bytes are taken as they are in both.
 */
const HEADER_VALUE = { key: delimitedTag(1), value: delimitedTag(2), rawValue: delimitedTag(3) };

function readHeaderValue(reader: ProtoReader, section: HeaderSection): void {
  let name = '';
  let value = '';
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.varint();
    if (tag === HEADER_VALUE.key) name = reader.latin1();
    else if (tag === HEADER_VALUE.rawValue || tag === HEADER_VALUE.value) value = reader.latin1();
    else reader.skip(tag);
  }
  reader.leave(outer);
  if (name.startsWith(':')) section.pseudo.set(name, value);
  else section.headers.push([name, value]);
}

/** HttpBody */
const HTTP_BODY = { body: delimitedTag(1), endOfStream: varintTag(2) };
const NO_BODY: Buffer = Buffer.alloc(0);

function readBody(reader: ProtoReader): { body: Uint8Array; endOfStream: boolean } {
  let body: Uint8Array = NO_BODY;
  let endOfStream = false;
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.varint();
    if (tag === HTTP_BODY.body) body = reader.bytes();
    else if (tag === HTTP_BODY.endOfStream) endOfStream = reader.varint() !== 0;
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { body, endOfStream };
}

/** envoy.config.core.v3.Metadata: the entries of `filter_metadata`, still encoded. */
const METADATA_FILTER_METADATA: number = delimitedTag(1);

function readMetadata(reader: ProtoReader, entries: Uint8Array[]): void {
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.varint();
    if (tag === METADATA_FILTER_METADATA) entries.push(reader.bytes());
    else reader.skip(tag);
  }
  reader.leave(outer);
}

function requestHeaders(section: HeaderSection, envelope: Envelope): EnvoyMessage {
  const { pseudo, headers, endOfStream } = section;
  return {
    kind: 'requestHeaders',
    head: {
      method: pseudo.get(':method') ?? '',
      scheme: pseudo.get(':scheme') ?? '',
      authority: pseudo.get(':authority') ?? '',
      path: pseudo.get(':path') ?? '',
      protocol: pseudo.get(':protocol') ?? null,
      headers,
    },
    endOfStream,
    attributes: lazyStructs(envelope.attributes),
    metadata: lazyStructs(envelope.metadata),
    observability: envelope.observability,
  };
}

function responseHeaders(section: HeaderSection, envelope: Envelope): EnvoyMessage {
  return {
    kind: 'responseHeaders',
    headers: section.headers,
    status: section.pseudo.get(':status') ?? '',
    endOfStream: section.endOfStream,
    attributes: lazyStructs(envelope.attributes),
  };
}
