/** Replies in their gRPC frame against a real gRPC peer: what is written is what arrives, without grpc-js's own copy. */
import { Client, Server, ServerCredentials, credentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';

import { frameWriter } from '../../src/server/grpc/frame-writer.ts';

const path = '/test.Frames/Exchange';
const asItIs = (bytes: Buffer): Buffer => bytes;
const method = {
  path,
  requestStream: true,
  responseStream: true,
  requestSerialize: asItIs,
  requestDeserialize: asItIs,
  responseDeserialize: asItIs,
} as const;

const opened: { close: () => void }[] = [];

afterEach(() => {
  for (const peer of opened.splice(0).toReversed()) peer.close();
});

test('frames arrive as messages, in order, and never pass through the serializer', async () => {
  const client = await serve((stream) => {
    for (const message of ['one', '', 'three'.repeat(20_000)]) stream.write(frameOf(message));
    stream.end();
  });
  const call = client.makeBidiStreamRequest<Buffer, Buffer>(path, asItIs, asItIs);
  call.end();
  expect(await all(call)).toEqual(['one', '', 'three'.repeat(20_000)]);
});

test('a call that the peer has cancelled is told so, and a write to it harms nothing', async () => {
  const cancelled = new Promise<void>((resolve) => {
    void serve((stream) => {
      stream.write(frameOf('first'));
      stream.on('cancelled', () => {
        stream.write(frameOf('late'));
        resolve();
      });
      stream.on('error', () => undefined);
    }).then((client) => {
      const call = client.makeBidiStreamRequest<Buffer, Buffer>(path, asItIs, asItIs);
      call.on('error', () => undefined);
      call.on('data', () => call.cancel());
    });
  });
  await cancelled;
});

test('another method is served as ever', async () => {
  const client = await serve((stream) => {
    stream.write(Buffer.from('plain'));
    stream.end();
  }, '/test.Frames/Other');
  const call = client.makeBidiStreamRequest<Buffer, Buffer>(path, asItIs, asItIs);
  call.end();
  expect(await all(call)).toEqual(['plain']);
});

/** A server whose serializer may not be reached, unless frames are for another path. */
async function serve(handle: (stream: ServerDuplexStream<Buffer, Buffer>) => void, framed = path): Promise<Client> {
  const server = new Server({ interceptors: [frameWriter(framed)] });
  const responseSerialize = (bytes: Buffer): Buffer => {
    if (framed === path) throw new Error('a frame was serialized');
    return bytes;
  };
  server.addService({ Exchange: { ...method, responseSerialize } }, { Exchange: handle });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  opened.push({ close: () => server.forceShutdown() }, client);
  return client;
}

function frameOf(message: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, Buffer.from(message)]);
}

async function all(call: AsyncIterable<Buffer>): Promise<string[]> {
  const messages: string[] = [];
  for await (const message of call) messages.push(message.toString());
  return messages;
}
