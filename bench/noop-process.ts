/**
 * An external processor that changes nothing, on grpc-js: the least that any filter of these modes costs. It asks Envoy for
 * what the processor's decide asks for an attached leader (the body whole, the response piece by piece), and says CONTINUE
 * to each message. It reads no message but for its kind and writes replies that are encoded once, so that its cost is that
 * of gRPC and Envoy alone.
 */
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { messageIn } from '../src/extproc/wire.ts';
import { kindOf, replies } from './noop/replies.ts';
import { serveParent } from './process/parent.ts';

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
