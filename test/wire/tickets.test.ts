/**
 * What deliver is shown for a ticket: it is good once, for the exchange that it was made for, for a while. All else lets the
 * exchange go on by itself.
 */
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type MockLlm, startMockLlm } from '../../harness/mock-llm.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { bodyOf, present, ticketFor } from '../support/envoy-deliveries.ts';
import { requestHeaders } from '../support/envoy-messages.ts';
import { type EnvoyPeer, type PeerStream, startPeer } from '../support/envoy-peer.ts';

const ttlMs = 1_500;
const upstream = new Conductor();
let egress: MockLlm;
let peer: EnvoyPeer;

beforeAll(async () => {
  egress = await startMockLlm(upstream.options);
  peer = await startPeer({ egress: egress.url, orphan_grace: '100ms', limits: { ticket_ttl: `${ttlMs}ms` } });
});
afterEach(() => peer.expectQuiet());
afterAll(async () => {
  await peer?.close();
  await egress?.close();
});

function show(ticket: string, requestId: string): PeerStream {
  return present(peer.open('deliver'), requestId, ticket);
}

/** The exchange goes on by itself, and the stream has ended in order. */
async function expectPassedOn(stream: PeerStream): Promise<void> {
  expect(await stream.ended).toBe(status.OK);
  expect(stream.replies.map((reply) => Object.keys(reply))).toEqual([['request_headers']]);
}

/** It got the whole answer of this prompt's only call. */
async function expectServed(stream: PeerStream, prompt: string): Promise<void> {
  expect(await stream.ended).toBe(status.OK);
  expect(upstream.calls(prompt)).toHaveLength(1);
  expect(bodyOf(stream.replies).toString()).toBe(Buffer.concat(upstream.calls(prompt)[0]?.sent ?? []).toString());
}

test('a ticket is good once: a second use goes on by itself, during the flight and after it', async () => {
  const prompt = 'once';
  const gate = gateAt(5);
  upstream.play(prompt, gate.script);
  const ticket = await ticketFor(peer, 'a', prompt);
  const first = show(ticket, 'a');
  await until('bytes', () => bodyOf(first.replies).length > 0);
  await expectPassedOn(show(ticket, 'a'));
  gate.open();
  await expectServed(first, prompt);
  await expectPassedOn(show(ticket, 'a'));
});

test('a ticket of another exchange is worth nothing there, and stays good for its own', async () => {
  const prompt = 'stolen';
  const ticket = await ticketFor(peer, 'owner', prompt);
  await expectPassedOn(show(ticket, 'thief'));
  await expectServed(show(ticket, 'owner'), prompt);
});

test('a ticket outlives its time by nothing: it counts as a caller that left, and no call was made', async () => {
  const prompt = 'expired';
  const ticket = await ticketFor(peer, 'late', prompt);
  await peer.expectQuiet();
  await expectPassedOn(show(ticket, 'late'));
  expect(upstream.calls(prompt)).toHaveLength(0);
});

test('a ticket from before a restart is unknown', async () => {
  const ticket = await ticketFor(peer, 'old', 'restart');
  await peer.processor.restart();
  await until('a connection', async () => {
    const stream = peer.open('deliver').send(requestHeaders('probe'));
    return (await stream.ended) === status.OK;
  });
  await expectPassedOn(show(ticket, 'old'));
});

test('request headers that look like a ticket do nothing', async () => {
  const prompt = 'forged';
  const ticket = await ticketFor(peer, 'victim', prompt);
  const forged = [
    ['ticket', ticket],
    ['x-coalesce-ticket', ticket],
    ['coalesce', JSON.stringify({ ticket })],
    ['x-coalesce-filter', 'deliver'],
  ] as const;
  await expectPassedOn(peer.open('deliver').send(requestHeaders('victim', { headers: forged })));
  await expectServed(show(ticket, 'victim'), prompt);
});

describe('a ticket that is none goes on by itself', () => {
  const struct = { ticket: 't1' };
  test.for([
    ['a number', 7],
    ['a boolean', true],
    ['null', null],
    ['a struct', struct],
    ['a list', ['t1']],
    ['empty', ''],
    ['unknown', `t${'0'.repeat(64)}`],
    ['64 KiB of text', 't'.repeat(65_536)],
    ['a name that objects inherit', '__proto__'],
  ] as const)('%s', async ([, ticket]) => {
    const metadata = { ticket: Array.isArray(ticket) ? [...ticket] : (ticket as string) };
    await expectPassedOn(peer.open('deliver').send(requestHeaders('x', { metadata })));
  });

  test('no ticket in the metadata, and bytes that are no metadata', async () => {
    await expectPassedOn(peer.open('deliver').send(requestHeaders('x', { metadata: { other: 1 } })));
    const broken = { filter_metadata: { coalesce: Buffer.from([0x0a, 0xff]) } };
    await expectPassedOn(peer.open('deliver').send({ ...requestHeaders('x'), metadata_context: broken }));
  });
});

test('an unnamed filter that shows a ticket is deliver; shown to decide, a ticket does nothing', async () => {
  const prompt = 'unnamed';
  const ticket = await ticketFor(peer, 'u', prompt);
  const decide = peer.open('decide').send(requestHeaders('u', { metadata: { ticket } }));
  expect(await decide.reply(0)).toHaveProperty('mode_override');
  decide.cancel();
  await expectServed(peer.open(null).send(requestHeaders('u', { metadata: { ticket } })), prompt);
});
