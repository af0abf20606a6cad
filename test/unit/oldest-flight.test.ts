/** The age by which a flight that hangs is told from many that come and go. */

import { expect, test } from 'vitest';

import { FlightDeck, keyNamed } from '../support/flight-deck.ts';

test('the oldest flight’s age is that of the one which has been open longest, and 0 without one', () => {
  const deck = new FlightDeck('attached');
  expect(deck.table.oldestAge(deck.now)).toBe(0);
  const first = deck.lead({ key: keyNamed('1') });
  deck.pass(100);
  const second = deck.lead({ key: keyNamed('2') });
  deck.pass(50);
  expect(deck.table.oldestAge(deck.now)).toBe(150);
  deck.began(first.flight);
  deck.ended(first.flight);
  expect(deck.table.oldestAge(deck.now)).toBe(50);
  deck.began(second.flight, {}, true);
  expect(deck.table.oldestAge(deck.now)).toBe(0);
});

test('a flight that has landed and is only read still is none', () => {
  const deck = new FlightDeck('attached');
  const { flight } = deck.lead();
  const reader = deck.board();
  deck.began(flight);
  deck.grew(flight, 'data');
  deck.ended(flight);
  deck.pass(1_000);
  expect(deck.table.totals.flights).toBe(1);
  expect(deck.table.oldestAge(deck.now)).toBe(0);
  deck.leave(reader.exchange);
  expect(deck.table.totals.flights).toBe(0);
});
