/** What a no-op processor says to each message of Envoy, encoded once in its gRPC frame, and how it tells the messages apart. */
import { encodeReply } from '../../src/extproc/wire.ts';

/** By the number of the field in ProcessingRequest that is filled. */
export const replies: ReadonlyMap<number, Buffer> = new Map([
  [2, encodeReply({ kind: 'continueRequestHeaders', mode: { requestBody: 'buffered', captureResponse: true } })],
  [3, encodeReply({ kind: 'continueResponseHeaders' })],
  [4, encodeReply({ kind: 'continueRequestBody' })],
  [5, encodeReply({ kind: 'continueResponseBody' })],
  [6, encodeReply({ kind: 'continueRequestTrailers' })],
  [7, encodeReply({ kind: 'continueResponseTrailers' })],
]);

/** The number of the first field that is one of the six; Envoy writes them in order, so it is the first of all. */
export function kindOf(message: Buffer): number {
  let at = 0;
  while (at < message.length) {
    const tag = varintAt(message, at);
    if (replies.has(tag.value >> 3)) return tag.value >> 3;
    const next = varintAt(message, tag.end);
    at = (tag.value & 7) === 2 ? next.end + next.value : next.end;
  }
  return 0;
}

function varintAt(bytes: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  let end = start;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[end] ?? 0;
    end += 1;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, end };
  }
}
