/**
 * A peer that breaks the protocol: its stream ends or is passed on, the process stays, others notice nothing, and nothing is
 * left of it.
 */
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { requestBody, requestHeaders, responseBody, responseHeaders } from '../support/envoy-messages.ts';
import { type EnvoyPeer, type PeerStream, startPeer } from '../support/envoy-peer.ts';

let peer: EnvoyPeer;
let pid = 0;

beforeAll(async () => {
  peer = await startPeer();
  pid = peer.processor.pid;
});
afterEach(async () => {
  await expectOthersServed();
  await peer.expectQuiet();
  expect(peer.processor.pid).toBe(pid);
});
afterAll(() => peer?.close());

/** An ordinary exchange of another's, from its head to the end of its answer. */
async function expectOthersServed(): Promise<void> {
  const stream = peer.open('decide').send(requestHeaders('other'));
  expect(await stream.reply(0)).toMatchObject({
    request_headers: {},
    mode_override: { request_body_mode: 'BUFFERED' },
  });
  stream.send(requestBody('other'));
  await stream.reply(1);
  stream.send(responseHeaders());
  await stream.reply(2);
  stream.send(responseBody('data: x\n\n', true));
  await stream.reply(3);
  expect(await stream.ended).toBe(status.OK);
}

/** The stream ended in order, so that Envoy lets the exchange go on, and after no more than so many replies. */
async function expectOrderlyEnd(stream: PeerStream, replies: number): Promise<void> {
  expect(await stream.ended).toBe(status.OK);
  expect(stream.replies).toHaveLength(replies);
}

describe('bytes that are no message end the stream in order', () => {
  test.for<[string, Buffer]>([
    ['a truncated varint', Buffer.from([0x12, 0xff])],
    ['a length beyond the end', Buffer.from([0x12, 0x7f, 0x00])],
    ['a wire type that there is not', Buffer.from([0x17])],
    ['text', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['nothing', Buffer.alloc(0)],
    ['an unknown member alone', Buffer.from([0xfa, 0x3e, 0x01, 0x00])],
  ])('%s', async ([, bytes]) => {
    for (const filter of ['decide', 'deliver', null]) {
      await expectOrderlyEnd(peer.open(filter).sendBytes(bytes), 0);
    }
  });

  test('in the midst of an exchange too, on every stage of it', async () => {
    const broken = Buffer.from([0x12, 0xff]);
    const stages = [requestHeaders('1'), requestBody('stages'), responseHeaders(), responseBody('data: x\n\n')];
    for (let sent = 1; sent <= stages.length; sent += 1) {
      const stream = peer.open('decide');
      for (const [index, message] of stages.slice(0, sent).entries()) {
        stream.send(message);
        await stream.reply(index);
      }
      await expectOrderlyEnd(stream.sendBytes(broken), sent);
    }
  });
});

describe('messages out of order end the stream in order', () => {
  test.for<[string, readonly object[], number]>([
    ['a body before the head', [requestBody('x')], 0],
    ['a response before the request', [responseHeaders()], 0],
    ['a response body first', [responseBody('x')], 0],
    ['request trailers first', [{ request_trailers: {} }], 0],
    ['response trailers first', [{ response_trailers: {} }], 0],
    ['two request heads', [requestHeaders('1'), requestHeaders('2')], 1],
    ['a response where the body was asked for', [requestHeaders('1'), responseHeaders()], 1],
    ['a head after the decision', [requestHeaders('1'), requestBody('x'), requestHeaders('1')], 2],
    ['a second body after the decision', [requestHeaders('1'), requestBody('x'), requestBody('x')], 2],
    ['a response body before its head', [requestHeaders('1'), requestBody('x'), responseBody('x')], 2],
    ['two response heads', [requestHeaders('1'), requestBody('x'), responseHeaders(), responseHeaders()], 3],
  ])('%s', async ([, messages, replies]) => {
    const stream = peer.open('decide');
    for (const [index, message] of messages.entries()) {
      stream.send(message);
      if (index < replies) await stream.reply(index);
    }
    await expectOrderlyEnd(stream, replies);
  });

  test('sent in one go, without waiting for a reply', async () => {
    const stream = peer.open('decide');
    for (const message of [responseBody('x'), requestBody('x'), requestHeaders('1'), responseHeaders()])
      stream.send(message);
    await expectOrderlyEnd(stream, 0);
  });

  test('a head after the end of a bypassed exchange changes nothing', async () => {
    const stream = peer.open('decide').send(requestHeaders('1', { headers: [['x-coalesce', 'never']] }));
    await stream.reply(0);
    stream.send(requestHeaders('1'));
    await expectOrderlyEnd(stream, 1);
  });
});

test('half a body, then a hang-up: nothing is decided', async () => {
  const stream = peer.open('decide').send(requestHeaders('1'));
  await stream.reply(0);
  stream.send(requestBody('half', false));
  expect(await stream.reply(1)).toMatchObject({ request_body: {} });
  await expectOrderlyEnd(stream, 2);
});

test('a filter of an unknown name is taken for the one that its message shows', async () => {
  const decide = peer.open('something').send(requestHeaders('1', { attributes: true }));
  expect(await decide.reply(0)).toMatchObject({ mode_override: { request_body_mode: 'BUFFERED' } });
  decide.cancel();
  const deliver = peer.open('something').send(requestHeaders('1'));
  expect(await deliver.reply(0)).toMatchObject({ request_headers: {} });
  await expectOrderlyEnd(deliver, 1);
});

test('an unnamed filter: attributes make it decide, their absence deliver', async () => {
  const decide = peer.open(null).send(requestHeaders('1', { attributes: true }));
  expect(await decide.reply(0)).toMatchObject({ mode_override: { request_body_mode: 'BUFFERED' } });
  decide.cancel();
  await expectOrderlyEnd(peer.open(null).send(requestHeaders('1')), 1);
});

test('observability mode: an answer or an end, and nothing is kept', async () => {
  const stream = peer.open('decide').send(requestHeaders('1', { observability: true }));
  await stream.reply(0);
  stream.halfClose();
  expect(await stream.ended).toBe(status.OK);
});

test('messages with no content: an empty head, body and response', async () => {
  await expectOrderlyEnd(peer.open('decide').send({ request_headers: {} }), 1);
  const body = peer.open('decide').send(requestHeaders('1'));
  await body.reply(0);
  await expectOrderlyEnd(body.send({ request_body: {} }), 2);
  const response = peer.open('decide').send(requestHeaders('1'));
  await response.reply(0);
  response.send(requestBody('x'));
  await response.reply(1);
  response.send({ response_headers: {} });
  await response.reply(2);
  response.cancel();
});
