/** Peers that mean harm, on the gRPC port and the admin port: the process stays, holds no more than before, and serves others. */
import { readFile } from 'node:fs/promises';
import { connect as connectTls } from 'node:tls';
import { setInterval } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { externalProcessorService } from '../../src/server/grpc/service-definition.ts';
import { until } from '../support/condition.ts';
import { requestHeaders } from '../support/envoy-messages.ts';
import { type EnvoyPeer, startPeer } from '../support/envoy-peer.ts';
import {
  callHead,
  emptySettings,
  frame,
  hugeHeaderBlock,
  ping,
  preface,
  received,
  reset,
} from '../support/http2-frames.ts';
import { protoCodec } from '../support/proto-codec.ts';
import { openSocket, type RawSocket } from '../support/raw-socket.ts';

/** What Node may keep of its heap after a flood: well within what the process is given. */
const costLimitMiB = 256;
const MiB = 1024 * 1024;

let peer: EnvoyPeer;
let pid = 0;
let before = 0;

beforeAll(async () => {
  peer = await startPeer();
  pid = peer.processor.pid;
  await expectOthersServed();
  before = await rssMiB();
});
afterEach(async () => {
  await expectOthersServed();
  await peer.expectQuiet();
  expect(peer.processor.pid).toBe(pid);
  expect((await rssMiB()) - before).toBeLessThan(costLimitMiB);
});
afterAll(() => peer?.close());

async function rssMiB(): Promise<number> {
  const text = await readFile(`/proc/${peer.processor.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1024;
}

/** An exchange of another's, on a connection of its own, is answered within a second. */
async function expectOthersServed(): Promise<void> {
  const startedAt = performance.now();
  const stream = peer.openApart('decide').send(requestHeaders('o', { headers: [['x-coalesce', 'never']] }));
  expect(await stream.reply(0)).toMatchObject({ request_headers: {} });
  expect(await stream.ended).toBe(status.OK);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
}

function grpcSocket(): Promise<RawSocket> {
  return openSocket(portOf(String(peer.processor.config['listen'])));
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}

const process = externalProcessorService().Process.path;

test('a header block of 10 MB ends its connection', async () => {
  const socket = await grpcSocket();
  socket.write(Buffer.concat([preface, emptySettings, hugeHeaderBlock(1, 10 * MiB)]));
  await socket.ended;
});

test('100,000 streams, opened and dropped at once, cost nothing once they are gone', async () => {
  // What Node keeps of its heap for the next time it keeps once.
  await dropStreams(50_000);
  const after = await rssMiB();
  await dropStreams(50_000);
  expect((await rssMiB()) - after).toBeLessThan(64);
}, 60_000);

async function dropStreams(count: number): Promise<void> {
  const perConnection = 1_000;
  const ids = Array.from({ length: perConnection }, (_, index) => 2 * index + 1);
  const heads = ids.flatMap((id) => [callHead(id, process), reset(id)]);
  const burst = Buffer.concat([preface, emptySettings, ...heads, ping]);
  for (let dropped = 0; dropped < count; dropped += perConnection) {
    const socket = await grpcSocket();
    socket.write(burst);
    // The answer to the ping: all before it has been taken.
    await socket.waitForText(received.pong);
    socket.close();
    if (dropped % 10_000 === 0) await expectOthersServed();
  }
}

test('a connection on which 100,000 streams are dropped is told to go away', async () => {
  const socket = await grpcSocket();
  socket.write(Buffer.concat([preface, emptySettings]));
  for (let first = 0; first < 100_000; first += 10_000) {
    const ids = Array.from({ length: 10_000 }, (_, index) => 2 * (first + index) + 1);
    socket.write(Buffer.concat(ids.flatMap((id) => [callHead(id, process), reset(id)])));
  }
  await Promise.race([socket.ended, socket.waitForText(received.goAway)]);
  socket.close();
});

test('a call that is sent a byte a second, and its peer’s preface too, holds up nobody', async () => {
  const message = protoCodec().encodeRequest(requestHeaders('slow', { headers: [['x-coalesce', 'never']] }));
  const length = Buffer.alloc(5);
  length.writeUInt32BE(message.length, 1);
  const call = Buffer.concat([
    callHead(1, process),
    frame('data', { stream: 1, payload: Buffer.concat([length, message]) }),
  ]);
  const [inPreface, inCall] = [await grpcSocket(), await grpcSocket()];
  inCall.write(Buffer.concat([preface, emptySettings, call.subarray(0, -6)]));
  const ticks = setInterval(1_000)[Symbol.asyncIterator]();
  for (let index = 0; index < 6; index += 1) {
    await ticks.next();
    inPreface.write(preface.subarray(index, index + 1));
    inCall.write(call.subarray(call.length - 6 + index, call.length - 5 + index));
    await expectOthersServed();
  }
  await ticks.return?.();
  await inCall.waitForText(received.firstHead);
  inPreface.close();
  inCall.close();
});

test.for<[string, Buffer]>([
  ['zeros', Buffer.alloc(64 * 1024)],
  ['an HTTP/1.1 request', Buffer.from('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello')],
  ['a preface, then anything', Buffer.concat([preface, Buffer.alloc(4096, 0xa5)])],
  [
    'a frame longer than allowed',
    Buffer.concat([preface, emptySettings, frame('data', { stream: 1, payload: Buffer.alloc(MiB) })]),
  ],
])('garbage ends its connection: %s', async ([, bytes]) => {
  const socket = await grpcSocket();
  socket.write(bytes);
  await Promise.race([socket.ended, socket.waitForText(received.goAway)]);
  socket.close();
});

test('a TLS ClientHello ends its connection', async () => {
  const port = portOf(String(peer.processor.config['listen']));
  await new Promise<void>((resolve) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
});

test('slow requests that fill the admin port are ended, and it answers again; the gRPC port does all the while', async () => {
  const port = portOf(new URL(peer.processor.adminUrl).host);
  const sockets = await Promise.all(Array.from({ length: 300 }, () => openSocket(port)));
  for (const socket of sockets) socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\nx-slow: ');
  let open = sockets.length;
  for (const socket of sockets) void socket.ended.then(() => (open -= 1));
  const ticks = setInterval(1_000)[Symbol.asyncIterator]();
  for (let second = 0; second < 15 && open > 0; second += 1) {
    await ticks.next();
    for (const socket of sockets) socket.write('a');
    await expectOthersServed();
  }
  await ticks.return?.();
  expect(open).toBe(0);
  await until('an answer of the admin port', async () => (await fetch(`${peer.processor.adminUrl}/healthz`)).ok);
});
