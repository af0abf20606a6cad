/**
 * Which parts of an exchange Envoy is to send on from here (`ProcessingMode`, as a mode override).
 */
import { varintTag } from './protobuf/proto-reader.ts';
import type { ProtoWriter } from './protobuf/proto-writer.ts';

/** What Envoy is to send of this exchange from here on, whatever its configuration says. What is not asked for is not sent. */
export interface ModeOverride {
  readonly requestBody?: 'buffered' | 'buffered_partial';
  /** The whole response: head, body as it comes, trailers. */
  readonly captureResponse: boolean;
  /** The response's head alone. `captureResponse` includes it. */
  readonly responseHeadersOnly?: boolean;
}

/** envoy.extensions.filters.http.ext_proc.v3.ProcessingMode, with its HeaderSendMode and BodySendMode. */
const MODE = {
  requestHeaders: varintTag(1),
  responseHeaders: varintTag(2),
  requestBody: varintTag(3),
  responseBody: varintTag(4),
  requestTrailers: varintTag(5),
  responseTrailers: varintTag(6),
};
const SEND = 1;
const SKIP = 2;
const BODY = { none: 0, streamed: 1, buffered: 2, buffered_partial: 3 };

/** All six modes: an override replaces the filter's configuration whole, and DEFAULT would mean SEND for the head. */
export function writeMode(writer: ProtoWriter, tag: number, mode: ModeOverride): void {
  const { captureResponse } = mode;
  writer.message(tag, () => {
    writer.varint(MODE.responseTrailers, captureResponse ? SEND : SKIP);
    writer.varint(MODE.requestTrailers, SKIP);
    writer.varint(MODE.responseBody, captureResponse ? BODY.streamed : BODY.none);
    writer.varint(MODE.requestBody, BODY[mode.requestBody ?? 'none']);
    writer.varint(MODE.responseHeaders, captureResponse || mode.responseHeadersOnly === true ? SEND : SKIP);
    writer.varint(MODE.requestHeaders, SEND);
  });
}
