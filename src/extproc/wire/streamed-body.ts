/**
 * The message that carries bytes of an answer (`StreamedBodyResponse`). Many followers are sent the same bytes, which nobody
 * changes: they are encoded once, and lie in the one message that all get.
 */
import { saysSame, writeMetadata, type Metadata } from './metadata.ts';
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
const ROOM_WITH_METADATA = 128;

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

/** A body as it is sent. */
interface StreamedBody {
  readonly bytes: Uint8Array;
  readonly endOfStream: boolean;
  readonly metadata?: Metadata;
}

let last: (StreamedBody & { readonly frame: Buffer }) | null = null;

/** In its gRPC frame. The same Buffer for what `joinBody` made, and for the same `bytes` object twice in a row. */
export function encodeStreamBody({ bytes, endOfStream, metadata }: StreamedBody): Buffer {
  const isAgain = last?.bytes === bytes && last.endOfStream === endOfStream;
  if (last !== null && isAgain && saysSame(last.metadata, metadata)) return last.frame;
  const isPlain = !endOfStream && metadata === undefined;
  const frame = (isPlain ? frames.get(bytes) : undefined) ?? frameWith([bytes], endOfStream, metadata);
  last = { bytes, endOfStream, frame, ...(metadata === undefined ? {} : { metadata }) };
  return frame;
}

function frameWith(chunks: readonly Uint8Array[], endOfStream: boolean, metadata?: Metadata): Buffer {
  const length = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  const writer = new ProtoWriter(length + (metadata === undefined ? ROOM : ROOM_WITH_METADATA));
  writer.message(STREAMED_IMMEDIATE_RESPONSE, () => {
    writer.message(BODY_RESPONSE, () => {
      if (endOfStream) writer.varint(STREAMED_BODY.endOfStream, 1);
      writer.parts(STREAMED_BODY.body, chunks);
    });
  });
  writeMetadata(writer, metadata);
  return writer.finishFrame();
}
