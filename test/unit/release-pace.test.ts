import { expect, test } from 'vitest';

import { ReleasePace } from '../../src/coalesce/table/release-pace.ts';
import { FlightDeck, keyNamed } from '../support/flight-deck.ts';

const [a, b] = [keyNamed('a'), keyNamed('b')];

test('the first may go at once, the next after its turn, each key for itself', () => {
  const pace = new ReleasePace(50);
  expect(pace.nextTurn(a, 100)).toBe(100);
  pace.takeTurn(a, 100);
  expect([pace.nextTurn(a, 100), pace.nextTurn(a, 119), pace.nextTurn(a, 121)]).toEqual([120, 120, 121]);
  expect(pace.nextTurn(b, 100)).toBe(100);
});

test('the pace is the key’s: flights that fail one after the other share it', () => {
  const deck = new FlightDeck('detached', { releaseRate: 10 });
  const released: number[] = [];
  for (let count = 0; count < 4; count += 1) deck.broke(deck.board().flight);
  for (let ms = 0; ms < 500; ms += 1) {
    for (const { kind } of deck.commands()) if (kind === 'release') released.push(deck.now);
    deck.pass(1);
  }
  expect(released).toEqual([0, 100, 200, 300]);
});
