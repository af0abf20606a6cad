/** Error answers that are kept: which, for whom, how long, how many. */

import { describe, expect, test } from 'vitest';

import type { Key } from '../../src/coalesce/key/key.ts';
import { FlightDeck, keyNamed, nothingHeld, tenantNamed } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

const legs = ['attached', 'detached'] as const;
const policy = samplePolicy({ negativeCache: { ttlMs: 1_000, statuses: [400, 404], maxEntries: 2 } });

/** A flight that ends with this answer, and that nobody holds any more. */
function fail(deck: FlightDeck, options: { key?: Key; status?: string; body?: string } = {}): void {
  const { key = keyNamed('k'), status = '400', body = 'wrong' } = options;
  const { flight, exchange } = deck.leg === 'attached' ? deck.lead({ policy, key }) : deck.board({ policy, key });
  deck.began(flight, { status, headers: [['content-type', 'application/json'], ['x-private', 'leader’s']] }); // prettier-ignore
  deck.grew(flight, body);
  deck.ended(flight, [['x-trailer', '1']]);
  if (deck.leg === 'detached') deck.drink(exchange);
  deck.commands();
  deck.facts();
}

describe.each(legs)('%s', (leg) => {
  test('the same request is answered with a kept error, without a call', () => {
    const deck = new FlightDeck(leg);
    fail(deck);
    const { exchange, role } = deck.board({ policy });
    expect(role).toBe('replayed');
    deck.pass(400);
    expect(deck.pull(exchange)).toMatchObject({
      kind: 'head',
      role: 'replayed',
      freshForMs: 600,
      head: { status: '400' },
    });
    expect(deck.drink(exchange)).toEqual({ text: 'wrong', ended: true });
    expect(deck.facts().map(({ kind }) => kind)).toEqual(['negativeHit']);
    expect(deck.commands().filter(({ kind }) => kind !== 'wake')).toEqual([]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('until its time is over', () => {
    const deck = new FlightDeck(leg);
    fail(deck);
    deck.pass(999);
    deck.leave(deck.board({ policy }).exchange);
    expect(deck.facts().some(({ kind }) => kind === 'negativeHit')).toBe(true);
    deck.pass(1);
    deck.arrive({ policy });
    expect(deck.facts().map(({ kind }) => kind)).toContain('missed');
  });

  test('a ticket for one that is over meanwhile is still good', () => {
    const deck = new FlightDeck(leg);
    fail(deck);
    deck.pass(990);
    const { ticket } = deck.hold({ policy });
    deck.pass(500);
    const { exchange } = deck.redeem(ticket);
    expect(deck.pull(exchange)).toMatchObject({ kind: 'head', freshForMs: 0 });
    expect(deck.drink(exchange)).toEqual({ text: 'wrong', ended: true });
  });

  test('another tenant’s request is not answered with it', () => {
    const deck = new FlightDeck(leg);
    fail(deck);
    deck.arrive({ policy, tenant: tenantNamed('b') });
    expect(deck.facts()[0]?.kind).toBe('missed');
  });

  test('at most max_entries are kept, the oldest goes', () => {
    const deck = new FlightDeck(leg);
    for (const name of ['1', '2', '3']) fail(deck, { key: keyNamed(name) });
    const kept = ['1', '2', '3'].map((name) => {
      deck.arrive({ policy, key: keyNamed(name) });
      return deck.facts()[0]?.kind;
    });
    expect(kept).toEqual(['missed', 'negativeHit', 'negativeHit']);
  });

  test('callers that are replayed at the same time read one copy', () => {
    const deck = new FlightDeck(leg);
    fail(deck);
    const [one, two] = [deck.board({ policy }), deck.board({ policy })];
    expect(deck.table.totals.replayBytes).toBe('wrong'.length);
    for (const { exchange } of [one, two]) expect(deck.drink(exchange)).toEqual({ text: 'wrong', ended: true });
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test.for(['200', '401', '422', '503'])('%s is not in the list, and is not kept', (status) => {
    const deck = new FlightDeck(leg);
    fail(deck, { status });
    deck.arrive({ policy });
    expect(deck.facts()[0]?.kind).toBe('missed');
  });

  test('an answer over 64 KiB is not kept, one of 64 KiB is', () => {
    for (const [size, kind] of [
      [65_536, 'negativeHit'],
      [65_537, 'missed'],
    ] as const) {
      // prettier-ignore
      const deck = new FlightDeck(leg);
      fail(deck, { body: 'x'.repeat(size) });
      deck.arrive({ policy });
      expect(deck.facts()[0]?.kind).toBe(kind);
    }
  });

  test('all together hold no more bytes than one flight may', () => {
    const deck = new FlightDeck(leg, { maxReplayBytes: 10 });
    fail(deck, { key: keyNamed('1'), body: '12345' });
    fail(deck, { key: keyNamed('2'), body: '123456' });
    deck.arrive({ policy, key: keyNamed('1') });
    deck.arrive({ policy, key: keyNamed('2') });
    expect(deck.facts().map(({ kind }) => kind)).toContain('missed');
    expect(deck.facts()).toEqual([]);
  });

  test('with as many flights as there may be, the answer is not replayed but the caller goes alone', () => {
    const deck = new FlightDeck(leg, { maxFlights: 1 });
    fail(deck);
    deck.arrive({ policy, key: keyNamed('other') });
    expect(deck.arrive({ policy }).decision).toEqual({ kind: 'alone', reason: 'limit' });
  });

  test('when the time is up nothing is due any more', () => {
    const deck = new FlightDeck(leg);
    fail(deck);
    expect(deck.table.nextDeadline).toBe(1_000);
    deck.pass(1_000);
    expect(deck.table.nextDeadline).toBeNull();
  });
});

test('a cut answer is not kept', () => {
  const deck = new FlightDeck('detached');
  const { flight } = deck.board({ policy });
  deck.began(flight, { status: '400', contentLength: 10 });
  deck.grew(flight, 'half');
  deck.broke(flight);
  deck.facts();
  deck.arrive({ policy });
  expect(deck.facts()[0]?.kind).toBe('missed');
});
