/**
 * The detached leg's calls against a raw TCP server that plays the egress: what becomes of a connection that breaks under a
 * call.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { FlightId } from '../../src/coalesce/flight/flight.ts';
import { createEgress, type Egress } from '../../src/upstream/call.ts';
import { sampleHead } from '../support/request-samples.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

let server: Server;
let egress: Egress;

afterEach(async () => {
  await egress.close();
  server.close();
});

/** Starts a server that is told of each request: the number of its connection, and of the request on it, both from 1. */
async function serve(
  onRequest: (socket: Socket, at: { connection: number; request: number }) => void,
): Promise<string> {
  let connection = 0;
  server = createServer((socket) => {
    connection += 1;
    const own = connection;
    let request = 0;
    socket.on('error', () => undefined);
    socket.on('data', () => {
      request += 1;
      onRequest(socket, { connection: own, request });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Makes one call after the other and says how each ended. */
async function callInTurn(url: string, count: number): Promise<string[]> {
  const endings: string[] = [];
  let next: (ending: string) => void = () => undefined;
  egress = createEgress(url, {
    began: () => undefined,
    grew: () => undefined,
    ended: () => next('ended'),
    broke: (_flight, { error }) => next(`broke: ${error.message}`),
  });
  for (let index = 0; index < count; index += 1) {
    const ending = new Promise<string>((resolve) => (next = resolve));
    egress.call(`flight-${index}` as FlightId, { head: sampleHead(), body: Buffer.from('{}') }, []);
    endings.push(await ending);
    // The connection is free for the next call only after the turn in which its answer ended.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return endings;
}

test('a kept connection that closes as it is used again costs nothing: the call is made once more, on a new one', async () => {
  const seen: string[] = [];
  const url = await serve((socket, { connection, request }) => {
    seen.push(`${connection}.${request}`);
    if (request === 1) socket.write(ANSWER);
    else socket.destroy();
  });
  expect(await callInTurn(url, 2)).toEqual(['ended', 'ended']);
  expect(seen).toEqual(['1.1', '1.2', '2.1']);
});

test('a new connection that closes without an answer breaks the call: nothing is made twice', async () => {
  const seen: string[] = [];
  const url = await serve((socket, { connection, request }) => {
    seen.push(`${connection}.${request}`);
    socket.destroy();
  });
  expect(await callInTurn(url, 1)).toEqual(['broke: other side closed']);
  expect(seen).toEqual(['1.1']);
});

test('an answer that breaks off after its head is not asked for again', async () => {
  const seen: string[] = [];
  const url = await serve((socket, { connection, request }) => {
    seen.push(`${connection}.${request}`);
    if (request === 1) socket.write(ANSWER);
    else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf');
  });
  expect((await callInTurn(url, 2))[1]).toMatch(/^broke/);
  expect(seen).toEqual(['1.1', '1.2']);
});
