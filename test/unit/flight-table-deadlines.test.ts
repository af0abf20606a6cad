/** What happens when time is up, in each phase of a flight and of a caller. */

import { describe, expect, test } from 'vitest';

import { FlightDeck, nothingHeld } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

const policy = samplePolicy({ deadlines: { firstByteMs: 1_000, idleMs: 500, totalMs: 3_000, waitMs: 2_000 } });
const refusal = { status: 504, errorShape: 'openai', retryAfterSeconds: null };

describe('detached', () => {
  test('no first byte in time: all that wait get 504, one that comes to deliver later too', () => {
    const deck = new FlightDeck('detached');
    const [first, second] = [deck.board({ policy }), deck.board({ policy })];
    const { ticket } = deck.hold({ policy });
    deck.commands();
    deck.pass(999);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    const late = deck.redeem(ticket);
    const answer = { ...refusal, reason: 'first_byte_timeout' };
    expect(deck.commands()).toEqual([
      { kind: 'cancelCall', flight: first.flight },
      ...[first, second, late].map(({ exchange }) => ({ kind: 'refuse', exchange, answer })),
    ]);
    expect(deck.endings()).toEqual(['first_byte_timeout']);
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.table.nextDeadline).toBeNull();
  });

  test('silence in mid-stream: those with bytes are cut, those without get 504', () => {
    const deck = new FlightDeck('detached');
    const [reader, waiter] = [deck.board({ policy }), deck.board({ policy })];
    deck.began(reader.flight);
    deck.drink(reader.exchange);
    deck.pass(400);
    deck.grew(reader.flight, 'still there');
    deck.commands();
    deck.pass(499);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    expect(deck.commands()).toEqual([
      { kind: 'cancelCall', flight: reader.flight },
      { kind: 'cut', exchange: reader.exchange, ending: 'idle_timeout' },
      { kind: 'refuse', exchange: waiter.exchange, answer: { ...refusal, reason: 'idle_timeout' } },
    ]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('a stream that never falls silent ends at total', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board({ policy });
    deck.began(flight);
    deck.drink(exchange);
    for (let at = 0; at < 3_000; at += 300) {
      deck.grew(flight, '.');
      deck.pass(300);
    }
    expect(deck.endings()).toEqual(['total_timeout']);
    expect(deck.commands()).toContainEqual({ kind: 'cut', exchange, ending: 'total_timeout' });
  });

  test('total before the first byte is a total timeout', () => {
    const deck = new FlightDeck('detached');
    const short = samplePolicy({ deadlines: { ...policy.deadlines, totalMs: 900 } });
    deck.board({ policy: short });
    deck.pass(900);
    expect(deck.endings()).toEqual(['total_timeout']);
  });

  test('a caller that has waited long enough goes alone, and the flight goes on for the others', () => {
    const deck = new FlightDeck('detached');
    const slow = samplePolicy({ deadlines: { ...policy.deadlines, firstByteMs: 10_000, totalMs: 10_000 } });
    const first = deck.board({ policy: slow });
    deck.pass(1_000);
    const second = deck.board({ policy: slow });
    deck.commands();
    deck.pass(1_000);
    expect(deck.commands()).toEqual([{ kind: 'release', exchange: first.exchange, reason: 'limit' }]);
    deck.began(second.flight);
    deck.ended(second.flight);
    expect(deck.drink(second.exchange).ended).toBe(true);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('the last caller that goes alone after its wait leaves an orphan, which is cancelled after the grace', () => {
    const deck = new FlightDeck('detached');
    const slow = samplePolicy({ deadlines: { ...policy.deadlines, firstByteMs: 10_000, totalMs: 10_000 } });
    const { flight } = deck.board({ policy: slow });
    deck.pass(2_000);
    deck.commands();
    deck.pass(2_000);
    expect(deck.commands()).toEqual([{ kind: 'cancelCall', flight }]);
    expect(deck.endings()).toEqual(['abandoned']);
  });

  test('once it has the head, a caller has no deadline of its own', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board({ policy });
    deck.began(flight);
    deck.drink(exchange);
    deck.grew(flight, 'all');
    deck.ended(flight);
    expect(deck.table.nextDeadline).toBeNull();
    deck.pass(1_000_000);
    expect(deck.drink(exchange)).toEqual({ text: 'all', ended: true });
  });
});

describe('attached', () => {
  test('no first byte in time: the leader is let be, and those that wait are released', () => {
    const deck = new FlightDeck('attached');
    const { exchange } = deck.lead({ policy });
    const [first, second] = [deck.board({ policy }), deck.board({ policy })];
    deck.pass(1_000);
    expect(deck.commands()).toEqual([
      { kind: 'stopCapture', exchange },
      { kind: 'release', exchange: first.exchange, reason: 'limit' },
    ]);
    deck.pass(20);
    expect(deck.commands()).toEqual([{ kind: 'release', exchange: second.exchange, reason: 'limit' }]);
    deck.leave(exchange);
    expect(deck.endings()).toEqual(['first_byte_timeout']);
    expect(deck.facts()).toEqual([]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('silence in mid-stream: the leader is let be, those with bytes are cut', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead({ policy });
    const reader = deck.board({ policy });
    deck.began(flight);
    deck.drink(reader.exchange);
    deck.pass(500);
    expect(deck.commands().slice(-2)).toEqual([
      { kind: 'stopCapture', exchange },
      { kind: 'cut', exchange: reader.exchange, ending: 'idle_timeout' },
    ]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('a promoted leader has its own time to the first byte', () => {
    const deck = new FlightDeck('attached');
    const { exchange } = deck.lead({ policy });
    deck.pass(900);
    const follower = deck.board({ policy });
    deck.leave(exchange);
    deck.commands();
    deck.pass(999);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    expect(deck.commands()).toEqual([{ kind: 'stopCapture', exchange: follower.exchange }]);
  });

  test('an heir’s wait runs from its own arrival, whatever its flights', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead({ policy });
    const [first, second] = [deck.board({ policy }), deck.board({ policy })];
    deck.pass(900);
    deck.began(flight);
    deck.pass(400);
    deck.leave(exchange);
    deck.pass(699);
    deck.commands();
    deck.pass(1);
    expect(deck.commands()).toEqual([{ kind: 'release', exchange: second.exchange, reason: 'limit' }]);
    deck.leave(first.exchange);
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.table.nextDeadline).toBeNull();
  });
});

test('nothing is due in an empty table', () => {
  const deck = new FlightDeck('detached');
  expect(deck.table.nextDeadline).toBeNull();
  deck.pass(1_000_000);
  expect([...deck.commands(), ...deck.facts()]).toEqual([]);
});
