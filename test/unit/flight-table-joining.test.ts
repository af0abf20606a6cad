/** Who leads, who follows, who goes alone; and the one use of a ticket. */

import { describe, expect, test } from 'vitest';

import { FlightDeck, keyNamed, nothingHeld, tenantNamed } from '../support/flight-deck.ts';
import { sampleHead, samplePolicy } from '../support/request-samples.ts';

const legs = ['attached', 'detached'] as const;
const deckHead = sampleHead();

describe('the decision', () => {
  test('attached: the first exchange leads at once and the second gets a ticket', () => {
    const deck = new FlightDeck('attached');
    const { flight } = deck.lead();
    expect(deck.hold()).toMatchObject({ kind: 'board', role: 'follower', flight });
    expect(deck.facts()).toEqual([
      { kind: 'missed' },
      { kind: 'upstreamCalled' },
      { kind: 'hit', canonicalOnly: false },
    ]);
  });

  test('detached: the first exchange gets a ticket too, and nothing is called before it is redeemed', () => {
    const deck = new FlightDeck('detached');
    const request = { head: deckHead, body: Buffer.from('{"a":1}') };
    const first = deck.hold({ request });
    expect(first.role).toBe('leader');
    expect(deck.commands()).toEqual([]);
    deck.redeem(first.ticket);
    expect(deck.commands()).toEqual([{ kind: 'startCall', flight: first.flight, request }]);
  });

  test.for(legs)('%s: another key or another tenant begins a flight of its own', (leg) => {
    const deck = new FlightDeck(leg);
    deck.arrive();
    deck.arrive({ key: keyNamed('other') });
    deck.arrive({ tenant: tenantNamed('other') });
    expect(deck.table.totals.flights).toBe(3);
    expect(deck.facts().filter((fact) => fact.kind === 'hit')).toEqual([]);
  });

  test.for(legs)('%s: a join with another raw body is counted as canonical only', (leg) => {
    const deck = new FlightDeck(leg);
    deck.arrive();
    deck.arrive({ rawDigest: 'spelt otherwise' });
    expect(deck.facts()).toContainEqual({ kind: 'hit', canonicalOnly: true });
  });

  test('a flight with max_waiters is full: the next exchange leads a new generation, and later ones join that', () => {
    const deck = new FlightDeck('attached');
    const policy = samplePolicy({ maxWaiters: 2 });
    const { flight } = deck.lead({ policy });
    expect([deck.hold({ policy }).flight, deck.hold({ policy }).flight]).toEqual([flight, flight]);
    const second = deck.lead({ policy });
    expect(deck.hold({ policy }).flight).toBe(second.flight);
    expect(deck.facts()).toContainEqual({ kind: 'lateJoinRejected', reason: 'waiters' });
  });

  test('detached: max_waiters counts the callers beyond the first', () => {
    const deck = new FlightDeck('detached');
    const policy = samplePolicy({ maxWaiters: 2 });
    const { flight } = deck.hold({ policy });
    deck.hold({ policy });
    deck.hold({ policy });
    expect(deck.table.totals.waiters).toBe(2);
    expect(deck.hold({ policy }).flight).not.toBe(flight);
  });

  test('beyond max_generations an exchange goes alone', () => {
    const deck = new FlightDeck('attached', { maxGenerations: 2 });
    const policy = samplePolicy({ maxWaiters: 0 });
    deck.lead({ policy });
    deck.lead({ policy });
    expect(deck.arrive({ policy }).decision).toEqual({ kind: 'alone', reason: 'limit' });
  });

  test('a generation that ends makes room for another', () => {
    const deck = new FlightDeck('attached', { maxGenerations: 2 });
    const policy = samplePolicy({ maxWaiters: 0 });
    const first = deck.lead({ policy });
    deck.lead({ policy });
    deck.leave(first.exchange);
    deck.lead({ policy });
  });

  test.for([
    ['max_flights', { maxFlights: 1 }],
    ['max_request_bytes_total', { maxRequestBytesTotal: 3 }],
  ] as const)('%s: an exchange that would begin one flight too many goes alone', ([, limits]) => {
    const deck = new FlightDeck('detached', limits);
    deck.hold();
    expect(deck.arrive({ key: keyNamed('other') }).decision).toEqual({ kind: 'alone', reason: 'limit' });
    expect(deck.hold().role).toBe('follower');
  });

  test('max_waiters_total: with that many callers an exchange goes alone, until one leaves', () => {
    const deck = new FlightDeck('detached', { maxWaitersTotal: 2 });
    const { exchange } = deck.board();
    deck.board({ key: keyNamed('other') });
    expect(deck.arrive().decision).toEqual({ kind: 'alone', reason: 'limit' });
    deck.leave(exchange);
    expect(deck.hold().role).toBe('follower');
  });

  test('max_replay_bytes_total: while that much is held nobody begins a flight', () => {
    const deck = new FlightDeck('attached', { maxReplayBytesTotal: 4 });
    const { flight, exchange } = deck.lead();
    deck.board();
    deck.began(flight);
    deck.grew(flight, '1234');
    expect(deck.arrive({ key: keyNamed('other') }).decision).toEqual({ kind: 'alone', reason: 'limit' });
    deck.leave(exchange);
    expect(deck.arrive({ key: keyNamed('other') }).decision.kind).toBe('lead');
  });
});

describe('request bytes', () => {
  test('a request is held until its answer begins, and given back once', () => {
    const body = Buffer.alloc(10);
    const request = { head: deckHead, body };
    const deck = new FlightDeck('detached', { maxRequestBytesTotal: 10 });
    const { flight } = deck.board({ request });
    expect(deck.arrive({ request, key: keyNamed('b') }).decision.kind).toBe('alone');
    deck.began(flight);
    deck.ended(flight);
    expect(deck.arrive({ request, key: keyNamed('b') }).decision.kind).toBe('board');
    expect(deck.arrive({ request, key: keyNamed('c') }).decision.kind).toBe('alone');
  });

  test('a flight that ends without an answer gives its request back', () => {
    const request = { head: deckHead, body: Buffer.alloc(10) };
    const deck = new FlightDeck('detached', { maxRequestBytesTotal: 10 });
    deck.broke(deck.board({ request }).flight);
    deck.leave(deck.board({ request }).exchange);
    deck.pass(2_000);
    deck.hold({ request });
  });
});

describe('a ticket', () => {
  test.for(legs)('%s: is good for one use', (leg) => {
    const deck = new FlightDeck(leg);
    deck.arrive();
    const { ticket } = deck.hold();
    expect(deck.redeem(ticket).redemption).toMatchObject({ kind: 'aboard', role: 'follower', waitMs: 900_000 });
    expect(deck.redeem(ticket).redemption).toEqual({ kind: 'unknown' });
  });

  test('of another exchange is unknown, and stays good for its own', () => {
    const deck = new FlightDeck('detached');
    const { ticket } = deck.hold({ binding: 'mine' });
    expect(deck.redeem(ticket, 'stolen').redemption).toEqual({ kind: 'unknown' });
    expect(deck.redeem(ticket, 'mine').redemption.kind).toBe('aboard');
  });

  test('that was never issued is unknown', () => {
    expect(new FlightDeck('detached').redeem('t123').redemption).toEqual({ kind: 'unknown' });
  });

  test.for(legs)('%s: expires, and then its caller has left and its flight is over', (leg) => {
    const deck = new FlightDeck(leg, { admission: { maxUpstream: 1, maxQueue: 9, maxWaitMs: 30_000 } });
    if (leg === 'attached') deck.lead({ key: keyNamed('busy') });
    const { ticket } = deck.hold();
    deck.pass(9_999);
    expect(deck.table.totals.flights).toBe(leg === 'attached' ? 2 : 1);
    deck.pass(1);
    expect(deck.redeem(ticket).redemption).toEqual({ kind: 'unknown' });
    expect(deck.facts().slice(-2)).toMatchObject([
      { kind: 'callerLeft', role: 'leader' },
      { kind: 'flightEnded', report: { ending: 'abandoned' } },
    ]);
  });

  test('that expires while others wait takes nothing from them', () => {
    const deck = new FlightDeck('detached');
    deck.hold();
    const { exchange, flight } = deck.board();
    deck.pass(10_000);
    deck.began(flight);
    deck.grew(flight, 'whole');
    deck.ended(flight);
    expect(deck.drink(exchange)).toEqual({ text: 'whole', ended: true });
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('redeemed late gets what is left of the wait', () => {
    const deck = new FlightDeck('detached');
    const { ticket } = deck.hold();
    deck.pass(4_000);
    expect(deck.redeem(ticket).redemption).toMatchObject({ waitMs: 896_000 });
  });
});

describe('a late joiner', () => {
  const policy = samplePolicy({ lateJoin: { maxEvents: 2, maxBytes: 40, maxAgeMs: 1_000 } });

  test.for(legs)('%s: gets the whole answer from its first byte on', (leg) => {
    const deck = new FlightDeck(leg);
    const { flight } = leg === 'attached' ? deck.lead() : deck.board();
    deck.began(flight);
    deck.grew(flight, 'past ');
    const late = deck.board();
    expect(deck.commands()).toContainEqual({ kind: 'wake', exchange: late.exchange });
    expect(deck.drink(late.exchange)).toEqual({ text: 'past ', ended: false });
    deck.grew(flight, 'and rest');
    deck.ended(flight);
    expect(deck.drink(late.exchange)).toEqual({ text: 'and rest', ended: true });
  });

  test.for([
    ['events', 'data: 1\n\n', 3],
    ['bytes', 'x'.repeat(41), 1],
  ] as const)(
    'is too late after more %s than late_join allows, and leads a new generation',
    ([reason, text, times]) => {
      const deck = new FlightDeck('attached');
      const { flight } = deck.lead({ policy });
      deck.began(flight);
      for (let count = 1; count < times; count += 1) deck.grew(flight, text);
      if (times > 1) expect(deck.hold({ policy }).flight).toBe(flight);
      deck.grew(flight, text);
      expect(deck.lead({ policy }).flight).not.toBe(flight);
      expect(deck.facts()).toContainEqual({ kind: 'lateJoinRejected', reason });
    },
  );

  test('is too late once the first byte is older than late_join allows, however long that byte took', () => {
    const deck = new FlightDeck('attached');
    const { flight } = deck.lead({ policy });
    deck.pass(60_000);
    deck.began(flight);
    deck.pass(1_000);
    expect(deck.hold({ policy }).flight).toBe(flight);
    deck.pass(1);
    deck.lead({ policy });
    expect(deck.facts()).toContainEqual({ kind: 'lateJoinRejected', reason: 'age' });
  });

  test('events count in an event stream only', () => {
    const deck = new FlightDeck('attached');
    const { flight } = deck.lead({ policy });
    deck.began(flight, { headers: [['content-type', 'application/json']] });
    for (let count = 0; count < 9; count += 1) deck.grew(flight, '\n\n\n');
    expect(deck.hold({ policy }).flight).toBe(flight);
  });

  test.for(legs)('%s: finds the key free as soon as the flight has landed', (leg) => {
    const deck = new FlightDeck(leg);
    const { flight } = leg === 'attached' ? deck.lead() : deck.board();
    deck.board();
    deck.began(flight);
    deck.ended(flight);
    expect(deck.arrive().decision).not.toMatchObject({ flight });
  });
});
