/** A bug in the core ends the flight that it came up in: its callers go where they can, and the others notice nothing. */
import { expect, test } from 'vitest';

import type { Deadlines } from '../../src/coalesce/request/policy.ts';
import { FlightDeck, keyNamed, nothingHeld } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

test('a bug at a deadline ends its flight as invariant, lets its callers go and is told; other flights go on', () => {
  const bug = new Error('a bug');
  let isArmed = false;
  const base = samplePolicy();
  const deadlines: Deadlines = {
    ...base.deadlines,
    firstByteMs: 1_000,
    get totalMs() {
      if (isArmed) throw bug;
      return base.deadlines.totalMs;
    },
  };
  const policy = samplePolicy({ deadlines });
  const deck = new FlightDeck('attached');
  const { exchange } = deck.lead({ policy });
  const follower = deck.board({ policy });
  const other = deck.lead({ key: keyNamed('other') });
  isArmed = true;
  deck.pass(1_000);
  expect(deck.commands()).toEqual([
    { kind: 'stopCapture', exchange },
    { kind: 'release', exchange: follower.exchange, reason: 'limit' },
  ]);
  const facts = deck.facts();
  expect(facts).toContainEqual({ kind: 'invariantBroken', error: bug });
  expect(facts.flatMap((fact) => (fact.kind === 'flightEnded' ? [fact.report.ending] : []))).toEqual(['invariant']);
  deck.began(other.flight);
  deck.ended(other.flight);
  expect(deck.endings()).toEqual(['landed']);
  expect(deck.table.totals).toEqual(nothingHeld);
});

test('a bug in ending a flight that leads the fleet does not keep its lead', () => {
  const bug = new Error('a bug');
  const deck = new FlightDeck('detached', {}, true);
  const { flight } = deck.board();
  deck.hear(flight, { kind: 'led' });
  deck.commands();
  deck.books.deadlines.set = () => undefined;
  deck.books.admission.giveBack = () => {
    throw bug;
  };
  deck.pass(samplePolicy().deadlines.firstByteMs);
  expect(deck.commands()).toContainEqual({ kind: 'leave', flight });
});
