/**
 * The message that carries bytes of an answer (`StreamedBodyResponse`). Many followers are sent the same bytes, which nobody
 * changes: they are encoded once, and lie in the one message that all get.
 */
import { METADATA_ROOM, writeMetadata, type Metadata } from './protobuf/dynamic-metadata.ts';
import { delimitedTag, varintTag } from './protobuf/proto-reader.ts';
import { ProtoWriter } from './protobuf/proto-writer.ts';

/** envoy.service.ext_proc.v3.ProcessingResponse */
export const STREAMED_IMMEDIATE_RESPONSE: number = delimitedTag(11);
/** StreamedImmediateResponse */
const BODY_RESPONSE = delimitedTag(2);
/** StreamedBodyResponse */
const STREAMED_BODY = { body: delimitedTag(1), endOfStream: varintTag(2) };

/** Two tags and lengths around the body's, and the end. */
const ROOM = 24;

/** The frames whose bodies `joinBody` made. */
const frames = new WeakMap<Uint8Array, Buffer>();

/** Joins chunks to one body, which is held within the frame that `encodeStreamBody` gives for it. */
export function joinBody(chunks: readonly Uint8Array[]): Uint8Array {
  const frame = frameWith(chunks, { endOfStream: false });
  const length = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  // The body is the message's last field.
  const body = frame.subarray(frame.length - length);
  frames.set(body, frame);
  return body;
}

export interface StreamBody {
  readonly bytes: Uint8Array;
  readonly endOfStream: boolean;
  readonly metadata?: Metadata;
}

let last: (StreamBody & { readonly frame: Buffer }) | null = null;

/** In its gRPC frame. The same Buffer for what `joinBody` made, and for equal bodies around the same `bytes` object in a row. */
export function encodeStreamBody(body: StreamBody): Buffer {
  const { bytes, endOfStream, metadata } = body;
  if (last !== null && isSame(last, body)) return last.frame;
  const joined = endOfStream || metadata !== undefined ? undefined : frames.get(bytes);
  const frame = joined ?? frameWith([bytes], body);
  last = { ...body, frame };
  return frame;
}

function isSame(left: StreamBody, right: StreamBody): boolean {
  return (
    left.bytes === right.bytes &&
    left.endOfStream === right.endOfStream &&
    isSameMetadata(left.metadata, right.metadata)
  );
}

function isSameMetadata(left: Metadata = {}, right: Metadata = {}): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

function frameWith(chunks: readonly Uint8Array[], around: Omit<StreamBody, 'bytes'>): Buffer {
  const length = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  const writer = new ProtoWriter(length + ROOM + (around.metadata === undefined ? 0 : METADATA_ROOM));
  writer.message(STREAMED_IMMEDIATE_RESPONSE, () => {
    writer.message(BODY_RESPONSE, () => {
      if (around.endOfStream) writer.varint(STREAMED_BODY.endOfStream, 1);
      writer.parts(STREAMED_BODY.body, chunks);
    });
  });
  writeMetadata(writer, around.metadata);
  return writer.finishFrame();
}
