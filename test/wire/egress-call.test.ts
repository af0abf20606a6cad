/**
 * The detached leg's calls against a raw TCP server that plays the egress: what becomes of a connection that breaks under a
 * call.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { FlightId } from '../../src/coalesce/flight/flight.ts';
import { type CallEvents, createEgress, type Egress } from '../../src/upstream/call.ts';
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
async function callInTurn(
  url: string,
  count: number,
  hears: Partial<Pick<CallEvents, 'began' | 'grew'>> = {},
): Promise<string[]> {
  const endings: string[] = [];
  let next: (ending: string) => void = () => undefined;
  egress = createEgress(url, {
    began: () => undefined,
    grew: () => undefined,
    ...hears,
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

describe('an answer that is held up while its connection ends', () => {
  const held = async (head: string, end: (socket: Socket) => void): Promise<{ endings: string[]; bytes: string }> => {
    let bytes = '';
    const url = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\nhalf`);
      // Behind what is held, so that the end meets a call that reads no more.
      setTimeout(() => end(socket), 50);
    });
    const endings = await callInTurn(url, 1, {
      grew: (flight, more) => {
        bytes += Buffer.from(more).toString();
        egress.hold(flight);
        setTimeout(() => egress.resume(flight), 200);
      },
    });
    return { endings, bytes };
  };
  const closing = 'connection: close\r\ncontent-length: 8';
  const proxied = 'proxy-connection: close\r\ncontent-length: 8';

  test('is whole, where the egress closes behind its last byte', async () => {
    expect(await held(closing, (socket) => socket.end('half'))).toEqual({ endings: ['ended'], bytes: 'halfhalf' });
  });

  test.each([
    ['closes before it', closing, (socket: Socket) => socket.end()],
    ['resets before it', closing, (socket: Socket) => socket.resetAndDestroy()],
    ['closes by the word of a proxy before it', proxied, (socket: Socket) => socket.end()],
    ['resets by the word of a proxy before it', proxied, (socket: Socket) => socket.resetAndDestroy()],
    ['resets a kept connection before it', 'content-length: 8', (socket: Socket) => socket.resetAndDestroy()],
    ['closes a kept connection before it', 'content-length: 8', (socket: Socket) => socket.end()],
  ])('is broken, where the egress %s', async (_, head, end) => {
    const { endings } = await held(head, end);
    expect(endings).toEqual([expect.stringMatching(/^broke/)]);
  });
});

const unframed = ['content-type: text/event-stream', 'transfer-encoding: gzip', 'transfer-encoding: chunked, identity'];

const ends: ReadonlyArray<readonly [string, (socket: Socket) => void]> = [
  ['ends', (socket) => socket.end('half an answer')],
  ['is reset', (socket) => void socket.write('half', () => socket.resetAndDestroy())],
];

test.each(unframed.flatMap((field) => ends.map(([how, end]) => [field, how, end] as const)))(
  'an answer with %s, whose end is its connection’s, is nobody’s, though the connection %s',
  async (field, _, end) => {
    const url = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`);
      end(socket);
    });
    const heard: string[] = [];
    const endings = await callInTurn(url, 1, { began: () => heard.push('began'), grew: () => heard.push('grew') });
    expect(endings).toEqual([expect.stringContaining('neither content-length nor chunked transfer-encoding')]);
    expect(heard).toEqual([]);
  },
);

test('an answer that has no body needs no frame', async () => {
  const url = await serve((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
  expect(await callInTurn(url, 1)).toEqual(['ended']);
});
