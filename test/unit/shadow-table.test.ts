/** Under shadow: who would have led and followed, whose answers are compared, and what comes of it. */

import { describe, expect, test } from 'vitest';

import type { AnswerHead, ExchangeId } from '../../src/coalesce/flight/flight.ts';
import { openaiChat } from '../../src/coalesce/profiles/openai/chat.ts';
import type { Comparison } from '../../src/coalesce/shadow/comparison.ts';
import type { ShadowArrival, Would } from '../../src/coalesce/shadow/shadow-table.ts';
import { FlightDeck, keyNamed, nothingHeld, tenantNamed } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

const head: AnswerHead = {
  status: '200',
  headers: [['content-type', 'application/json']],
  contentLength: null,
  announcesTrailers: false,
};
const policy = samplePolicy({ maxWaiters: 2, shadow: { compare: 0.5, maxBytes: 1_000 } });

function says(content: string): string {
  const usage = { prompt_tokens: 5, completion_tokens: 2 };
  return JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }], usage });
}

function arrive(deck: FlightDeck, options: { chance?: number } & Partial<ShadowArrival> = {}) {
  const { chance = 0.9, ...changes } = options;
  const exchange = deck.newExchange();
  const asked = deck.table.drawForComparison(exchange, { compare: 0.5, chance });
  const would = (): Would =>
    deck.table.shadow({
      ...{ exchange, policy, tenant: tenantNamed('a'), key: keyNamed('k'), model: 'm', route: 'r' },
      usage: openaiChat.usage,
      ...changes,
    });
  return { exchange, asked, would };
}

function answer(deck: FlightDeck, exchange: ExchangeId, body: string, ofHead: AnswerHead = head): void {
  deck.table.specimenBegan(exchange, ofHead);
  for (const byte of Buffer.from(body)) deck.table.specimenGrew(exchange, Buffer.of(byte));
  deck.table.specimenEnded(exchange);
  deck.leave(exchange);
}

function compared(deck: FlightDeck): Comparison[] {
  return deck.facts().flatMap((fact) => (fact.kind === 'compared' ? [fact.comparison] : []));
}

/** A drawn leader and a follower, both to be compared. */
function pair(deck: FlightDeck, changes: Partial<ShadowArrival> = {}): { leader: ExchangeId; follower: ExchangeId } {
  const [leader, follower] = [arrive(deck, { chance: 0, ...changes }), arrive(deck, changes)];
  expect([leader.would(), follower.would()]).toMatchObject([
    { role: 'leader', isCompared: true },
    { role: 'follower', isCompared: true },
  ]);
  return { leader: leader.exchange, follower: follower.exchange };
}

describe('a would-be flight', () => {
  test('is there while its leader is under way, and is named to those that would have joined', () => {
    const deck = new FlightDeck('attached');
    const first = arrive(deck);
    const { flight } = first.would();
    expect(arrive(deck).would()).toEqual({ role: 'follower', flight, isCompared: false });
    expect(deck.facts()).toEqual([{ kind: 'wouldHit' }]);
    expect(deck.table.totals.flights).toBe(1);
    deck.leave(first.exchange);
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(arrive(deck).would().role).toBe('leader');
  });

  test('is of one key and one tenant', () => {
    const deck = new FlightDeck('attached');
    arrive(deck).would();
    expect(arrive(deck, { key: keyNamed('other') }).would().role).toBe('leader');
    expect(arrive(deck, { tenant: tenantNamed('b') }).would().role).toBe('leader');
  });

  test('does not end with a would-be follower', () => {
    const deck = new FlightDeck('attached');
    arrive(deck).would();
    const follower = arrive(deck);
    follower.would();
    deck.leave(follower.exchange);
    expect(deck.table.totals.flights).toBe(1);
  });

  test('beyond max_flights is not remembered', () => {
    const deck = new FlightDeck('attached', { maxFlights: 1 });
    arrive(deck).would();
    for (const chance of [0, 0.9]) {
      expect(arrive(deck, { key: keyNamed('other'), chance }).would()).toMatchObject({
        role: 'leader',
        isCompared: false,
      });
    }
    expect(deck.table.totals.flights).toBe(1);
  });
});

describe('the draw', () => {
  test('asks nothing of an exchange on which it does not fall', () => {
    const deck = new FlightDeck('attached');
    expect(arrive(deck, { chance: 0.5 }).asked).toBe(false);
    expect(arrive(deck, { chance: 0.4999 }).asked).toBe(true);
  });

  test('asks others only while one on which it fell is about', () => {
    const deck = new FlightDeck('attached');
    const drawn = arrive(deck, { chance: 0 });
    expect(arrive(deck).asked).toBe(true);
    deck.leave(drawn.exchange);
    expect(arrive(deck).asked).toBe(false);
  });

  test('counts for leaders alone: one on which it fell and that follows compares nothing, and asks nothing more', () => {
    const deck = new FlightDeck('attached');
    arrive(deck).would();
    const drawn = arrive(deck, { chance: 0 });
    expect(drawn.would()).toMatchObject({ role: 'follower', isCompared: false });
    expect(arrive(deck).asked).toBe(false);
  });

  test('ends where the exchange turns out to be shared for real', () => {
    const deck = new FlightDeck('attached');
    const drawn = arrive(deck, { chance: 0 });
    deck.arrive({ exchange: drawn.exchange });
    expect(arrive(deck).asked).toBe(false);
  });

  test('takes in a follower whose head came before its leader’s key was known', () => {
    const deck = new FlightDeck('attached');
    const [leader, follower] = [arrive(deck, { chance: 0 }), arrive(deck)];
    leader.would();
    expect(follower.would()).toMatchObject({ role: 'follower', isCompared: true });
  });

  test('takes in no more followers than max_waiters', () => {
    const deck = new FlightDeck('attached');
    arrive(deck, { chance: 0 }).would();
    expect([1, 2, 3].map(() => arrive(deck).would().isCompared)).toEqual([true, true, false]);
  });
});

describe('a comparison', () => {
  const place = { key8: keyNamed('k').slice(0, 8), model: 'm', route: 'r', policy: 'default' };
  const tokens = { prompt: 5, completion: 2 };

  test.for([
    ['same', 'the leader’s is over first', 'Hello', false],
    ['same', 'the follower’s is over first', 'Hello', true],
    ['diverged', 'the leader’s is over first', 'Hullo', false],
    ['diverged', 'the follower’s is over first', 'Hullo', true],
  ] as const)('says %s where %s', ([verdict, , text, followerFirst]) => {
    const deck = new FlightDeck('attached');
    const { leader, follower } = pair(deck);
    const steps = [() => answer(deck, leader, says('Hello')), () => answer(deck, follower, says(text))];
    for (const step of followerFirst ? steps.toReversed() : steps) step();
    const difference = verdict === 'diverged' ? { difference: 'text' } : {};
    expect(compared(deck)).toEqual([{ flight: 'f1', ...place, verdict, ...difference, tokens }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test.for<[string, string, AnswerHead]>([
    ['too_large', says('x'.repeat(1_000)), head],
    ['status', says('Hello'), { ...head, status: '503' }],
    ['status', says('Hello'), { ...head, status: '429' }],
    ['unreadable', 'x', { ...head, headers: [['content-type', 'application/vnd.amazon.eventstream']] }],
    ['unreadable', 'x', { ...head, headers: [...head.headers, ['content-encoding', 'gzip']] }],
    ['unreadable', says('Hello'), { ...head, headers: [...head.headers, ['content-encoding', 'zstd']] }],
  ])('is none where one answer is %s', ([why, body, ofHead]) => {
    for (const odd of ['leader', 'follower'] as const) {
      const deck = new FlightDeck('attached');
      const { leader, follower } = pair(deck);
      for (const [who, exchange] of [['leader', leader] as const, ['follower', follower] as const]) {
        if (who === odd) answer(deck, exchange, body, ofHead);
        else answer(deck, exchange, says('Hello'));
      }
      expect(compared(deck)).toEqual([{ flight: 'f1', ...place, verdict: 'none', why }]);
      expect(deck.table.totals).toEqual(nothingHeld);
    }
  });

  test.for(['leader', 'follower'] as const)('is none where the %s leaves half-way', (who) => {
    const deck = new FlightDeck('attached');
    const both = pair(deck);
    const other = who === 'leader' ? both.follower : both.leader;
    answer(deck, other, says('Hello'));
    deck.table.specimenBegan(both[who], head);
    deck.table.specimenGrew(both[who], Buffer.from('{'));
    expect(deck.table.totals.replayBytes).toBe(1);
    deck.leave(both[who]);
    expect(compared(deck)).toEqual([{ flight: 'f1', ...place, verdict: 'none', why: 'unfinished' }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('is none where captured answers in all would be over max_replay_bytes_total', () => {
    const deck = new FlightDeck('attached', { maxReplayBytesTotal: 300 });
    const [one, two] = [pair(deck), pair(deck, { key: keyNamed('other') })];
    deck.table.specimenBegan(one.leader, head);
    deck.table.specimenGrew(one.leader, Buffer.alloc(200));
    deck.table.specimenBegan(two.leader, head);
    deck.table.specimenGrew(two.leader, Buffer.alloc(101));
    expect(deck.table.totals.replayBytes).toBe(200);
    deck.table.specimenEnded(two.leader);
    answer(deck, two.follower, says(''));
    expect(compared(deck)).toMatchObject([{ verdict: 'none', why: 'too_large' }]);
  });

  test('reads compressed answers', async () => {
    const { gzipSync, brotliCompressSync } = await import('node:zlib');
    const deck = new FlightDeck('attached');
    const { leader, follower } = pair(deck);
    const coded = (coding: string): AnswerHead => ({
      ...head,
      headers: [...head.headers, ['content-encoding', coding]],
    });
    for (const [exchange, coding, bytes] of [
      [leader, 'gzip', gzipSync(says('Hello'))],
      [follower, 'br', brotliCompressSync(says('Hello'))],
    ] as const) {
      deck.table.specimenBegan(exchange, coded(coding));
      deck.table.specimenGrew(exchange, bytes);
      deck.table.specimenEnded(exchange);
    }
    expect(compared(deck)).toMatchObject([{ verdict: 'same', tokens }]);
  });
});
