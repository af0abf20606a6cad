/**
 * An external processor that changes nothing, on grpc-js: the least that any filter of these modes costs. It asks Envoy for
 * what the processor's decide asks for an attached leader (the body whole, the response piece by piece), and says CONTINUE
 * to each message. It reads no message but for its kind and writes replies that are encoded once, so that its cost is that
 * of gRPC and Envoy alone.
 */
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { encodeReply, messageIn } from '../src/extproc/wire.ts';
import { serveParent } from './process/parent.ts';

/** By the number of the field in ProcessingRequest that is filled. */
const replies: ReadonlyMap<number, Buffer> = new Map([
  [2, encodeReply({ kind: 'continueRequestHeaders', mode: { requestBody: 'buffered', captureResponse: true } })],
  [3, encodeReply({ kind: 'continueResponseHeaders' })],
  [4, encodeReply({ kind: 'continueRequestBody' })],
  [5, encodeReply({ kind: 'continueResponseBody' })],
  [6, encodeReply({ kind: 'continueRequestTrailers' })],
  [7, encodeReply({ kind: 'continueResponseTrailers' })],
]);

const asItIs = (bytes: Buffer): Buffer => bytes;

serveParent<object>(await listen(), () => Promise.resolve(null));

async function listen(): Promise<number> {
  // As the processor sets them.
  const server = new Server({
    'grpc.max_receive_message_length': 64 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
    'grpc.enable_channelz': 0,
    'grpc-node.max_session_memory': Number.MAX_SAFE_INTEGER,
  });
  const Process = {
    path: '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    requestStream: true,
    responseStream: true,
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: messageIn,
    responseDeserialize: asItIs,
  } as const;
  server.addService({ Process }, { Process: answer });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

function answer(stream: ServerDuplexStream<Buffer, Buffer>): void {
  stream.on('data', (message: Buffer) => {
    const reply = replies.get(kindOf(message));
    if (reply === undefined) throw new Error('a message of Envoy has none of the six kinds');
    stream.write(reply);
  });
  stream.on('end', () => stream.end());
  // Envoy resets a stream that it needs no more.
  stream.on('error', () => undefined);
}

/** The number of the first field that is one of the six; Envoy writes them in order, so it is the first of all. */
function kindOf(message: Buffer): number {
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
