/** The service definitions against a real gRPC peer: what arrives is decoded, what is written goes out as it is. */
import { Client, Server, ServerCredentials, credentials, type ServiceDefinition } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';

import { encodeReply, type EnvoyMessage } from '../../src/extproc/wire.ts';
import {
  externalProcessorService,
  healthService,
  type ExternalProcessorHandlers,
  type HealthHandlers,
} from '../../src/server/grpc/service-definition.ts';
import { headerMap } from '../support/proto-codec.ts';

const opened: { close: () => Promise<void> | void }[] = [];

afterEach(async () => {
  for (const peer of opened.splice(0).toReversed()) await peer.close();
});

describe('the ext_proc service', () => {
  test('a message from a peer reaches the handler decoded, and the encoded reply reaches the peer', async () => {
    const received: EnvoyMessage[] = [];
    const handlers: ExternalProcessorHandlers = {
      Process: (call) => {
        call.on('data', (message: EnvoyMessage) => {
          received.push(message);
          call.write(encodeReply({ kind: 'continueRequestHeaders', metadata: { outcome: 'bypass' } }));
          call.end();
        });
      },
    };
    const service = externalProcessorService();
    const client = await connect(service, handlers);
    const { path, requestSerialize, responseDeserialize } = service.Process;
    const call = client.makeBidiStreamRequest<object, object>(path, requestSerialize, responseDeserialize);
    call.write({ request_headers: { headers: headerMap([[':method', 'POST']]), end_of_stream: true } });
    const replies = await all(call);
    expect(path).toBe('/envoy.service.ext_proc.v3.ExternalProcessor/Process');
    expect(received).toMatchObject([{ kind: 'requestHeaders', head: { method: 'POST' }, endOfStream: true }]);
    expect(replies).toMatchObject([{ request_headers: {} }]);
  });

  test('bytes that are no message reach the handler as malformed', async () => {
    const received: EnvoyMessage[] = [];
    const handlers: ExternalProcessorHandlers = {
      Process: (call) => {
        call.on('data', (message: EnvoyMessage) => received.push(message));
        call.on('end', () => call.end());
      },
    };
    const service = externalProcessorService();
    const client = await connect(service, handlers);
    const raw = (bytes: Buffer): Buffer => bytes;
    const call = client.makeBidiStreamRequest<Buffer, Buffer>(service.Process.path, raw, raw);
    call.write(Buffer.from([0x22, 0xff]));
    call.end();
    await all(call);
    expect(received).toEqual([{ kind: 'malformed', why: 'truncated varint' }]);
  });
});

test('the health service speaks plain objects', async () => {
  const handlers: HealthHandlers = {
    Check: (call, reply) => reply(null, { status: call.request.service === '' ? 'SERVING' : 'NOT_SERVING' }),
    Watch: (call) => call.end(),
  };
  const service = healthService();
  const client = await connect(service, handlers);
  const { path, requestSerialize, responseDeserialize } = service.Check;
  const check = (name: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: name }, (error, response) =>
        error === null ? resolve(response) : reject(error),
      );
    });
  expect(path).toBe('/grpc.health.v1.Health/Check');
  expect(await check('')).toEqual({ status: 'SERVING' });
  expect(await check('x')).toEqual({ status: 'NOT_SERVING' });
});

async function connect<Handlers extends ExternalProcessorHandlers | HealthHandlers>(
  service: ServiceDefinition<Handlers>,
  handlers: Handlers,
): Promise<Client> {
  const server = new Server();
  server.addService(service, handlers);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  opened.push({
    close: () => new Promise((resolve, reject) => server.tryShutdown((e) => (e ? reject(e) : resolve()))),
  });
  opened.push(client);
  return client;
}

async function all(call: AsyncIterable<unknown>): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of call) messages.push(message);
  return messages;
}
