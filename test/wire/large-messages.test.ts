/** Large messages both ways: what Envoy sends beyond grpc-js's own 4 MiB, and answers to a reader that does not read. */
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type MockLlm, startMockLlm } from '../../harness/mock-llm.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { bodyOf, present, ticketFor } from '../support/envoy-deliveries.ts';
import { requestBody, requestHeaders, responseBody, responseHeaders } from '../support/envoy-messages.ts';
import { type EnvoyPeer, startPeer } from '../support/envoy-peer.ts';

const MiB = 1024 * 1024;

describe('attached', () => {
  let peer: EnvoyPeer;
  beforeAll(async () => {
    peer = await startPeer();
  });
  afterEach(() => peer.expectQuiet());
  afterAll(() => peer?.close());

  test.for([64 * 1024 + 1, 5 * MiB])('a captured chunk of %i bytes reaches a follower whole', async (size) => {
    const prompt = `chunk ${size}`;
    const leader = peer.open('decide').send(requestHeaders('leader'));
    await leader.reply(0);
    await leader.send(requestBody(prompt)).reply(1);
    const follower = present(peer.open('deliver'), 'f', await ticketFor(peer, 'f', prompt));
    const chunk = Buffer.alloc(size, 'x');
    await leader.send(responseHeaders()).reply(2);
    await leader.send(responseBody(chunk)).reply(3);
    await leader.send(responseBody('end', true)).reply(4);
    expect(await leader.ended).toBe(status.OK);
    expect(await follower.ended).toBe(status.OK);
    expect(bodyOf(follower.replies).equals(Buffer.concat([chunk, Buffer.from('end')]))).toBe(true);
  });

  test('a request body over the limit goes on by itself, however it came', async () => {
    const stream = peer.open('decide').send(requestHeaders('large'));
    await stream.reply(0);
    expect(await stream.send(requestBody('x'.repeat(5 * MiB))).reply(1)).toMatchObject({ request_body: {} });
    expect(await stream.ended).toBe(status.OK);
  });
});

describe('detached, a reader that does not read', () => {
  const capBytes = 4 * MiB;
  const upstream = new Conductor();
  let egress: MockLlm;
  let peer: EnvoyPeer;
  beforeAll(async () => {
    egress = await startMockLlm(upstream.options);
    peer = await startPeer({ egress: egress.url, limits: { max_replay_bytes: capBytes } });
  });
  afterEach(() => peer.expectQuiet());
  afterAll(async () => {
    await peer?.close();
    await egress?.close();
  });

  async function held(): Promise<number> {
    return (await peer.processor.metrics()).get('coalesce_replay_bytes') ?? 0;
  }

  /** Two readers, one of which stops reading once it has the head; the answer, of so many tokens, then comes at once. */
  async function withStalled(prompt: string, tokens: number) {
    const gate = gateAt(1, { tokens, tokenBytes: 64 * 1024 });
    upstream.play(prompt, gate.script);
    const stalled = present(peer.openApart('deliver'), 's', await ticketFor(peer, 's', prompt));
    const reader = present(peer.openApart('deliver'), 'r', await ticketFor(peer, 'r', prompt));
    await Promise.all([stalled.reply(1), reader.reply(1)]);
    stalled.pause();
    gate.open();
    expect(await reader.ended).toBe(status.OK);
    const sent = Buffer.concat(upstream.calls(prompt)[0]?.sent ?? []);
    expect(bodyOf(reader.replies).equals(sent)).toBe(true);
    return { stalled, sent };
  }

  test('within the cap, only its own cursor waits, and it gets everything once it reads on', async () => {
    const { stalled, sent } = await withStalled('within', 48);
    const seen = bodyOf(stalled.replies).length;
    expect(await held()).toBeGreaterThan(MiB);
    expect(bodyOf(stalled.replies)).toHaveLength(seen);
    expect(seen).toBeLessThan(sent.length);
    stalled.resume();
    expect(await stalled.ended).toBe(status.OK);
    expect(bodyOf(stalled.replies).equals(sent)).toBe(true);
  });

  test('a cap behind the others, it is cut, and what was held for it is free', async () => {
    const { stalled, sent } = await withStalled('beyond', 320);
    await until('nothing held', async () => (await held()) === 0);
    stalled.resume();
    expect(await stalled.ended).toBe(status.ABORTED);
    expect(bodyOf(stalled.replies).length).toBeLessThan(sent.length);
  });
});
