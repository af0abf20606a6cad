/**
 * The message that carries bytes of an answer (`StreamedBodyResponse`). Many followers are sent the same bytes, which nobody
 * changes: they are encoded once, and lie in the one message that all get.
 */
import { delimitedTag, varintTag } from './proto-reader.ts';
import { ProtoWriter } from './proto-writer.ts';

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
  const frame = frameWith(chunks, false);
  const length = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  // The body is the message's last field.
  const body = frame.subarray(frame.length - length);
  frames.set(body, frame);
  return body;
}

let last: { readonly bytes: Uint8Array; readonly endOfStream: boolean; readonly frame: Buffer } | null = null;

/** In its gRPC frame. The same Buffer for what `joinBody` made, and for the same `bytes` object twice in a row. */
export function encodeStreamBody(bytes: Uint8Array, endOfStream: boolean): Buffer {
  if (last?.bytes === bytes && last.endOfStream === endOfStream) return last.frame;
  const frame = (endOfStream ? undefined : frames.get(bytes)) ?? frameWith([bytes], endOfStream);
  last = { bytes, endOfStream, frame };
  return frame;
}

function frameWith(chunks: readonly Uint8Array[], endOfStream: boolean): Buffer {
  const length = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  const writer = new ProtoWriter(length + ROOM);
  writer.message(STREAMED_IMMEDIATE_RESPONSE, () => {
    writer.message(BODY_RESPONSE, () => {
      if (endOfStream) writer.varint(STREAMED_BODY.endOfStream, 1);
      writer.parts(STREAMED_BODY.body, chunks);
    });
  });
  return writer.finishFrame();
}
