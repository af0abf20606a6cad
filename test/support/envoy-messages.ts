/** The messages of an ordinary exchange, for a peer that plays Envoy. */
import type { JavaScriptValue } from 'google-protobuf/google/protobuf/struct_pb.js';
import { chat } from '../../harness/http-client.ts';
import { headerMap, structBytes } from './proto-codec.ts';

export type RequestOptions = {
  readonly endOfStream?: boolean;
  /** More request headers. */
  readonly headers?: ReadonlyArray<readonly [string, string]>;
  /** What dynamic metadata says under `coalesce`. */
  readonly metadata?: Record<string, JavaScriptValue>;
  /** Whether `request_attributes` come along. */
  readonly attributes?: boolean;
  readonly observability?: boolean;
};

/** A chat request's head. Exchanges differ by their request id, as Envoy makes it. */
export function requestHeaders(requestId: string, options: RequestOptions = {}): object {
  const { headers } = chat('');
  const fields: ReadonlyArray<readonly [string, string]> = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'llm.example.com'],
    [':path', '/v1/chat/completions'],
    ['x-request-id', requestId],
    ['content-length', String(Buffer.byteLength(chat('x').body))],
    ...Object.entries(headers),
    ...(options.headers ?? []),
  ];
  return {
    request_headers: { headers: headerMap(fields), end_of_stream: options.endOfStream ?? false },
    ...(options.metadata && { metadata_context: { filter_metadata: { coalesce: structBytes(options.metadata) } } }),
    ...(options.attributes && {
      attributes: { 'envoy.filters.http.ext_proc': structBytes({ 'xds.route_name': 'llm' }) },
    }),
    ...(options.observability && { observability_mode: true }),
  };
}

export function requestBody(prompt: string, endOfStream: boolean = true): object {
  return { request_body: { body: Buffer.from(chat(prompt).body), end_of_stream: endOfStream } };
}

export function responseHeaders(status: number = 200): object {
  const fields = [
    [':status', String(status)],
    ['content-type', 'text/event-stream'],
  ] as const;
  return { response_headers: { headers: headerMap(fields), end_of_stream: false } };
}

export function responseBody(body: string | Uint8Array, endOfStream: boolean = false): object {
  return { response_body: { body: Buffer.from(body), end_of_stream: endOfStream } };
}
