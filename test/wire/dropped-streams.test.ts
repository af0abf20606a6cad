/** A peer that drops its stream, at each point of the protocol and in crowds: the flight goes on without it, nothing is left. */
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type MockLlm, startMockLlm } from '../../harness/mock-llm.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { bodyOf, present, ticketFor } from '../support/envoy-deliveries.ts';
import { requestBody, requestHeaders, responseBody, responseHeaders } from '../support/envoy-messages.ts';
import { type EnvoyPeer, type PeerStream, startPeer } from '../support/envoy-peer.ts';

const drops = [
  ['reset', (stream: PeerStream) => stream.cancel()],
  ['half-closed', (stream: PeerStream) => stream.halfClose()],
] as const;

function board(peer: EnvoyPeer, requestId: string, ticket: string): PeerStream {
  return present(peer.open('deliver'), requestId, ticket);
}

describe('attached', () => {
  let peer: EnvoyPeer;
  beforeAll(async () => {
    peer = await startPeer();
  });
  afterEach(() => peer.expectQuiet());
  afterAll(() => peer?.close());

  /** What a leader says, in order; a drop after so many of them. */
  const leader = (prompt: string): object[] => [
    requestHeaders('leader'),
    requestBody(prompt),
    responseHeaders(),
    responseBody('data: 1\n\n'),
    responseBody('data: 2\n\n'),
  ];
  const points = ['opened', 'after the head', 'after the body', 'after the answer’s head', 'mid-capture', 'late'];

  describe.each(drops)('%s', (_, drop) => {
    test.for(points.map((point, said) => [point, said] as const))('%s', async ([point, said]) => {
      const stream = peer.open('decide');
      for (const [index, message] of leader(point).slice(0, said).entries()) await stream.send(message).reply(index);
      drop(stream);
      expect([status.OK, status.CANCELLED]).toContain(await stream.ended);
    });

    test('in mid-capture, with a follower that has bytes: it is cut, not ended', async () => {
      const stream = peer.open('decide');
      for (const [index, message] of leader('followed').entries()) {
        await stream.send(message).reply(index);
      }
      const follower = board(peer, 'f', await ticketFor(peer, 'f', 'followed'));
      await follower.reply(1);
      drop(stream);
      expect(await follower.ended).toBe(status.ABORTED);
    });

    test('before the answer, with a follower that waits: it is promoted, and its answer is captured', async () => {
      const stream = peer.open('decide');
      for (const [index, message] of leader('promoted').slice(0, 2).entries()) await stream.send(message).reply(index);
      const follower = board(peer, 'f', await ticketFor(peer, 'f', 'promoted'));
      expect(await follower.reply(0)).toHaveProperty('override_message_timeout');
      drop(stream);
      expect(await follower.reply(1)).toMatchObject({
        request_headers: {},
        mode_override: { response_header_mode: 'SEND' },
      });
      follower.send(responseHeaders());
      await follower.reply(2);
      follower.send(responseBody('data: x\n\n', true));
      await follower.reply(3);
      expect(await follower.ended).toBe(status.OK);
    });
  });
});

describe('detached', () => {
  const upstream = new Conductor();
  let egress: MockLlm;
  let peer: EnvoyPeer;
  beforeAll(async () => {
    egress = await startMockLlm(upstream.options);
    peer = await startPeer({
      egress: egress.url,
      orphan_grace: '100ms',
      limits: { ticket_ttl: '1s', max_waiters: 1000 },
    });
  });
  afterEach(() => peer.expectQuiet());
  afterAll(async () => {
    await peer?.close();
    await egress?.close();
  });

  test('after the ticket: it expires, and no call is made', async () => {
    await ticketFor(peer, 'gone', 'after the ticket');
    await peer.expectQuiet();
    expect(upstream.calls('after the ticket')).toHaveLength(0);
  });

  test.for(drops)('waiting in deliver, %s: the call is cancelled after the grace', async ([how, drop]) => {
    const prompt = `waiting, ${how}`;
    upstream.play(prompt, { hang: 'head' });
    const stream = board(peer, 'w', await ticketFor(peer, 'w', prompt));
    await until('the call', () => upstream.calls(prompt).length === 1);
    drop(stream);
    await until('the abort', () => upstream.calls(prompt)[0]?.aborted === true);
  });

  test.for(drops)('in mid-delivery, %s: the other one gets everything', async ([how, drop]) => {
    const prompt = `mid-delivery, ${how}`;
    const gate = gateAt(5);
    upstream.play(prompt, gate.script);
    const [one, other] = [
      board(peer, '1', await ticketFor(peer, '1', prompt)),
      board(peer, '2', await ticketFor(peer, '2', prompt)),
    ];
    await Promise.all([one.reply(1), other.reply(1)]);
    drop(one);
    gate.open();
    expect(await other.ended).toBe(status.OK);
    expect(bodyOf(other.replies).equals(Buffer.concat(upstream.calls(prompt)[0]?.sent ?? []))).toBe(true);
  });

  test('300 streams at once, dropped at any point: nothing is left, and one more exchange is served', async () => {
    const prompt = 'crowd';
    const gate = gateAt('head');
    upstream.play(prompt, gate.script);
    const streams = Array.from({ length: 300 }, (_, index) => {
      const stream = peer.open(index % 3 === 0 ? 'deliver' : 'decide');
      if (index % 5 > 0) stream.send(requestHeaders(`crowd-${index}`));
      if (index % 5 > 1) stream.send(requestBody(prompt));
      return stream;
    });
    await until('streams', async () => ((await peer.processor.metrics()).get('coalesce_streams') ?? 0) > 0);
    for (const [index, stream] of streams.entries()) if (index % 2 === 0) stream.cancel();
    const survivor = board(peer, 's', await ticketFor(peer, 's', prompt));
    await until('the call', () => upstream.calls(prompt).length === 1);
    for (const stream of streams) stream.cancel();
    gate.open();
    expect(await survivor.ended).toBe(status.OK);
    await Promise.all(streams.map((stream) => stream.ended));
  });
});
