/** Each limit at its boundary: what is within it, and what the first beyond it becomes. */

import { describe, expect, test } from 'vitest';

import type { TableLimits } from '../../src/coalesce/table/board.ts';
import { FlightDeck, keyNamed, tableLimits, tenantNamed } from '../support/flight-deck.ts';
import { sampleHead, samplePolicy } from '../support/request-samples.ts';

const legs = ['attached', 'detached'] as const;

function decks(limits: Partial<TableLimits>): FlightDeck[] {
  return legs.map((leg) => new FlightDeck(leg, limits));
}

function rejections(deck: FlightDeck): string[] {
  return deck.facts().flatMap((fact) => (fact.kind === 'lateJoinRejected' ? [fact.reason] : []));
}

test('max_waiters 2: two follow, the third leads another flight', () => {
  for (const deck of decks({})) {
    const policy = samplePolicy({ maxWaiters: 2 });
    deck.arrive({ policy });
    expect([1, 2].map(() => deck.hold({ policy }).role)).toEqual(['follower', 'follower']);
    expect(rejections(deck)).toEqual([]);
    const { decision } = deck.arrive({ policy });
    expect(decision).toMatchObject(deck.leg === 'attached' ? { kind: 'lead' } : { kind: 'board', role: 'leader' });
    expect(rejections(deck)).toEqual(['waiters']);
  }
});

test('max_waiters_total 2: two hold tickets, the third goes alone (limit)', () => {
  for (const deck of decks({ maxWaitersTotal: 2 })) {
    if (deck.leg === 'attached') deck.arrive();
    deck.hold();
    deck.hold();
    for (const key of [keyNamed('k'), keyNamed('other')])
      expect(deck.arrive({ key }).decision).toEqual({ kind: 'alone', reason: 'limit' });
  }
});

test('max_generations 2: the third flight under a key is not begun (limit), one under another key is', () => {
  for (const deck of decks({ maxGenerations: 2 })) {
    const policy = samplePolicy({ maxWaiters: 1 });
    for (let count = 0; count < 4; count += 1) deck.arrive({ policy });
    expect(deck.table.totals.flights).toBe(2);
    expect(deck.arrive({ policy }).decision).toEqual({ kind: 'alone', reason: 'limit' });
    expect(deck.arrive({ policy, key: keyNamed('other') }).decision.kind).not.toBe('alone');
  }
});

test('max_flights 2: a third key goes alone (limit), a follower of the second is taken', () => {
  for (const deck of decks({ maxFlights: 2 })) {
    for (const name of ['1', '2']) expect(deck.arrive({ key: keyNamed(name) }).decision.kind).not.toBe('alone');
    expect(deck.arrive({ key: keyNamed('3') }).decision).toEqual({ kind: 'alone', reason: 'limit' });
    expect(deck.hold({ key: keyNamed('2') }).role).toBe('follower');
  }
});

test('max_request_bytes_total 10, detached: ten bytes are held, the eleventh goes alone (limit)', () => {
  const deck = new FlightDeck('detached', { maxRequestBytesTotal: 10 });
  const request = (size: number) => ({ head: sampleHead(), body: Buffer.alloc(size) });
  expect(deck.arrive({ key: keyNamed('1'), request: request(10) }).decision.kind).toBe('board');
  const decision = deck.arrive({ key: keyNamed('2'), request: request(1) }).decision;
  expect(decision).toEqual({ kind: 'alone', reason: 'limit' });
});

test('max_replay_bytes 4: with four bytes recorded others join, with a fifth they lead anew (bytes)', () => {
  for (const deck of decks({ maxReplayBytes: 4 })) {
    const { flight } = deck.leg === 'attached' ? deck.lead() : deck.board();
    deck.began(flight);
    deck.grew(flight, '1234');
    expect(deck.hold().flight).toBe(flight);
    deck.grew(flight, '5');
    deck.arrive();
    expect(rejections(deck)).toEqual(['bytes']);
  }
});

test('max_replay_bytes_total 4: with four bytes held a flight begins no more (limit), with three it does', () => {
  for (const [held, kind] of [
    ['123', 'begun'],
    ['1234', 'alone'],
  ] as const) {
    // prettier-ignore
    for (const deck of decks({ maxReplayBytesTotal: 4 })) {
      const { flight } = deck.leg === 'attached' ? deck.lead() : deck.board();
      deck.began(flight);
      deck.grew(flight, held);
      const { decision } = deck.arrive({ key: keyNamed('other') });
      expect(decision.kind === 'alone' ? 'alone' : 'begun').toBe(kind);
    }
  }
});

const lateJoins = [
  ['events', { maxEvents: 2, maxBytes: 1_000, maxAgeMs: 1_000 }, 'a\n\nb\n\n', 'c\n\n', 0],
  ['bytes', { maxEvents: 100, maxBytes: 4, maxAgeMs: 1_000 }, '1234', '5', 0],
  ['age', { maxEvents: 100, maxBytes: 1_000, maxAgeMs: 50 }, 'a', '', 1],
] as const;

describe.each(lateJoins)('late_join, %s', (reason, lateJoin, within, beyond, laterMs) => {
  test('at the limit a caller joins, one more and it leads anew', () => {
    for (const deck of decks({})) {
      const policy = samplePolicy({ lateJoin });
      const { flight } = deck.leg === 'attached' ? deck.lead({ policy }) : deck.board({ policy });
      deck.began(flight);
      deck.grew(flight, within);
      deck.pass(reason === 'age' ? 50 : 0);
      expect(deck.hold({ policy }).flight).toBe(flight);
      deck.grew(flight, beyond);
      deck.pass(laterMs);
      deck.arrive({ policy });
      expect(rejections(deck)).toEqual([reason]);
    }
  });
});

test('ticket_ttl 100 ms: redeemed after 99 ms it is good, at 100 ms it is gone and its place is free', () => {
  for (const deck of decks({ ticketTtlMs: 100, maxWaitersTotal: 1 })) {
    if (deck.leg === 'attached') deck.arrive();
    const { ticket } = deck.hold();
    deck.pass(99);
    expect(deck.arrive().decision.kind).toBe('alone');
    const good = deck.redeem(ticket);
    expect(good.redemption.kind).toBe('aboard');
    deck.leave(good.exchange);
    const late = deck.hold({ key: deck.leg === 'attached' ? keyNamed('k') : keyNamed('2') });
    deck.pass(100);
    expect(deck.redeem(late.ticket).redemption.kind).toBe('unknown');
    expect(deck.facts()).toContainEqual({ kind: 'callerLeft', role: late.role });
    expect(deck.arrive().decision.kind).not.toBe('alone');
  }
});

test('max_upstream 2, max_queue 1: two call, one waits, the next gets 429 (queue_full)', () => {
  for (const deck of decks({ admission: { maxUpstream: 2, maxQueue: 1, maxWaitMs: 1_000 } })) {
    for (const name of ['1', '2']) {
      if (deck.leg === 'attached') deck.lead({ key: keyNamed(name) });
      else deck.board({ key: keyNamed(name) });
    }
    expect(deck.table.totals.queue).toBe(0);
    deck.board({ key: keyNamed('3') });
    expect(deck.table.totals.queue).toBe(1);
    const answer = { status: 429, reason: 'queue_full', errorShape: 'openai', retryAfterSeconds: 1 };
    expect(deck.arrive({ key: keyNamed('4') }).decision).toEqual({ kind: 'shed', reason: 'queue_full', answer });
  }
});

test('max_wait 100 ms: at 99 ms one waits in the queue, at 100 ms it gets 429 (max_wait)', () => {
  for (const deck of decks({ admission: { maxUpstream: 1, maxQueue: 1, maxWaitMs: 100 } })) {
    if (deck.leg === 'attached') deck.lead({ tenant: tenantNamed('b') });
    else deck.board({ tenant: tenantNamed('b') });
    const { exchange } = deck.board();
    deck.commands();
    deck.pass(99);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    expect(deck.commands()).toMatchObject([{ kind: 'refuse', exchange, answer: { status: 429, reason: 'max_wait' } }]);
  }
});

test('deadlines.wait 100 ms: at 99 ms a caller waits for its first byte, at 100 ms it goes alone (limit)', () => {
  for (const deck of decks({})) {
    const { deadlines } = samplePolicy();
    const policy = samplePolicy({ deadlines: { ...deadlines, waitMs: 100 } });
    if (deck.leg === 'attached') deck.lead({ policy });
    const { exchange } = deck.board({ policy });
    deck.commands();
    deck.pass(99);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    expect(deck.commands()).toContainEqual({ kind: 'release', exchange, reason: 'limit' });
  }
});

test('max_promotions 2: the third leader that is lost ends the flight, and the rest is released in turn', () => {
  const deck = new FlightDeck('attached', { maxPromotions: 2, releaseRate: 10 });
  let { exchange: leader } = deck.lead();
  const waiting = Array.from({ length: 5 }, () => deck.board().exchange);
  for (let count = 0; count < 2; count += 1) {
    deck.leave(leader);
    expect(deck.commands()).toMatchObject([{ kind: 'promote', exchange: waiting[count] }]);
    leader = waiting[count] ?? leader;
  }
  deck.leave(leader);
  expect(deck.commands()).toEqual([{ kind: 'release', exchange: waiting[2], reason: 'limit' }]);
  expect(deck.endings()).toEqual(['leader_lost']);
  deck.pass(99);
  expect(deck.commands()).toEqual([]);
  deck.pass(1);
  expect(deck.commands()).toEqual([{ kind: 'release', exchange: waiting[3], reason: 'limit' }]);
  deck.pass(100);
  expect(deck.commands()).toEqual([{ kind: 'release', exchange: waiting[4], reason: 'limit' }]);
});

test('orphan_grace 100 ms, detached: at 99 ms a call without callers is joined, at 100 ms it is cancelled', () => {
  const deck = new FlightDeck('detached', { orphanGraceMs: 100 });
  const { exchange, flight } = deck.board();
  deck.leave(exchange);
  deck.pass(99);
  const again = deck.board();
  expect(again.flight).toBe(flight);
  deck.leave(again.exchange);
  deck.commands();
  deck.pass(100);
  expect(deck.commands()).toEqual([{ kind: 'cancelCall', flight }]);
  expect(deck.endings()).toEqual(['abandoned']);
});

describe('limits that change', () => {
  test('a higher max_upstream lets the queue go on at once', () => {
    for (const deck of decks({ admission: { maxUpstream: 1, maxQueue: 9, maxWaitMs: 1_000 } })) {
      if (deck.leg === 'attached') deck.lead();
      else deck.board();
      for (const name of ['1', '2', '3']) deck.board({ key: keyNamed(name) });
      changed(deck, { admission: { maxUpstream: 3, maxQueue: 9, maxWaitMs: 1_000 } });
      expect(deck.table.totals.queue).toBe(1);
      changed(deck, { admission: { maxUpstream: 0, maxQueue: 0, maxWaitMs: 0 } });
      expect(deck.table.totals.queue).toBe(0);
    }
  });

  test('a lower one ends nothing, and counts what runs', () => {
    for (const deck of decks({})) {
      const flights = ['1', '2'].map((name) => {
        const key = keyNamed(name);
        return deck.leg === 'attached' ? deck.lead({ key }).flight : deck.board({ key }).flight;
      });
      deck.commands();
      changed(deck, { admission: { maxUpstream: 1, maxQueue: 9, maxWaitMs: 1_000 } });
      expect(deck.commands()).toEqual([]);
      deck.board({ key: keyNamed('3') });
      const ended = (): number => {
        const [flight] = flights.splice(0, 1);
        if (flight !== undefined) deck.began(flight, {}, true);
        return deck.table.totals.queue;
      };
      expect([ended(), ended()]).toEqual([1, 0]);
    }
  });

  test('a flight keeps the policy that it began with', () => {
    for (const deck of decks({})) {
      const policy = samplePolicy({ maxWaiters: 1 });
      deck.arrive({ policy });
      deck.hold({ policy: samplePolicy({ maxWaiters: 5 }) });
      deck.arrive({ policy: samplePolicy({ maxWaiters: 5 }) });
      expect(rejections(deck)).toEqual(['waiters']);
    }
  });
});

function changed(deck: FlightDeck, changes: Partial<TableLimits>): void {
  deck.table.limitTo({ ...tableLimits, ...changes }, deck.now);
}
