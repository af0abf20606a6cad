/** Upstream calls at once: who gets a slot, who queues, who is told to come back later. */

import { describe, expect, test } from 'vitest';

import { Admission } from '../../src/coalesce/table/admission/admission.ts';
import { FlightDeck, keyNamed, nothingHeld, tenantNamed } from '../support/flight-deck.ts';

const legs = ['attached', 'detached'] as const;
const one = { admission: { maxUpstream: 1, maxQueue: 2, maxWaitMs: 30_000 } };

/** One flight that has the only slot, and how to end it. */
function busy(leg: 'attached' | 'detached', limits = one): { deck: FlightDeck; land: () => void } {
  const deck = new FlightDeck(leg, limits);
  const { flight } = leg === 'attached' ? deck.lead({ key: keyNamed('busy') }) : deck.board({ key: keyNamed('busy') });
  deck.commands();
  deck.facts();
  const land = (): void => {
    deck.began(flight);
    deck.ended(flight);
  };
  return { deck, land };
}

describe('the queue', () => {
  test('attached: without a free slot the leader waits in deliver and goes upstream when its turn has come', () => {
    const { deck, land } = busy('attached');
    const waiting = deck.board();
    expect(waiting.role).toBe('leader');
    expect(deck.table.totals.queue).toBe(1);
    expect(deck.commands()).toEqual([]);
    land();
    expect(deck.commands()).toEqual([{ kind: 'promote', exchange: waiting.exchange, flight: waiting.flight }]);
    expect(deck.facts().filter((fact) => fact.kind === 'promoted')).toEqual([]);
  });

  test('detached: the call starts when its turn has come', () => {
    const { deck, land } = busy('detached');
    const { flight } = deck.board();
    expect(deck.phases()).toEqual(['calling', 'queued']);
    land();
    expect(deck.commands()).toContainEqual(expect.objectContaining({ kind: 'startCall', flight }));
  });

  test.for(legs)('%s: first in, first out', (leg) => {
    const { deck, land } = busy(leg);
    const first = deck.board({ key: keyNamed('first') });
    deck.board({ key: keyNamed('second') });
    land();
    expect(deck.commands()).toContainEqual(expect.objectContaining({ flight: first.flight }));
    expect(deck.table.totals.queue).toBe(1);
  });

  test.for(legs)('%s: one place for a flight, whatever its callers', (leg) => {
    const { deck } = busy(leg);
    for (let count = 0; count < 5; count += 1) deck.board();
    expect(deck.table.totals.queue).toBe(1);
  });

  test.for(legs)('%s: a flight whose callers all leave gives up its place', (leg) => {
    const { deck } = busy(leg);
    const { exchange } = deck.board();
    deck.leave(exchange);
    expect(deck.table.totals.queue).toBe(0);
    expect(deck.facts()).toMatchObject([
      { kind: 'missed' },
      { kind: 'callerLeft', role: 'queued' },
      { kind: 'flightEnded', report: { ending: 'abandoned' } },
    ]);
  });

  test('attached: a flight whose waiting caller left gives its turn to the next, and launches with its next ticket', () => {
    const { deck, land } = busy('attached');
    const { exchange, flight } = deck.board({ key: keyNamed('first') });
    const { ticket } = deck.hold({ key: keyNamed('first') });
    const second = deck.board({ key: keyNamed('second') });
    deck.leave(exchange);
    deck.commands();
    land();
    expect(deck.commands()).toEqual([{ kind: 'promote', exchange: second.exchange, flight: second.flight }]);
    deck.leave(second.exchange);
    const late = deck.redeem(ticket);
    expect(deck.commands()).toEqual([{ kind: 'promote', exchange: late.exchange, flight }]);
  });

  test.for(legs)('%s: a full queue sheds the next flight, in its own error shape', (leg) => {
    const { deck } = busy(leg);
    deck.board({ key: keyNamed('first') });
    deck.board({ key: keyNamed('second') });
    expect(deck.arrive({ errorShape: 'anthropic' }).decision).toEqual({
      kind: 'shed',
      reason: 'queue_full',
      answer: { status: 429, reason: 'queue_full', errorShape: 'anthropic', retryAfterSeconds: 1 },
    });
    expect(deck.facts()).toContainEqual({ kind: 'shed', reason: 'queue_full' });
  });

  test('detached: tickets issued while a place was free find the queue full in deliver, and all of the flight is shed', () => {
    const { deck } = busy('detached', { admission: { maxUpstream: 1, maxQueue: 1, maxWaitMs: 30_000 } });
    const [first, late] = [deck.hold(), deck.hold()];
    deck.board({ key: keyNamed('quicker') });
    deck.commands();
    const refused = [deck.redeem(first.ticket), deck.redeem(late.ticket)];
    expect(deck.commands()).toEqual(
      refused.map(({ exchange }) => ({
        kind: 'refuse',
        exchange,
        answer: { status: 429, reason: 'queue_full', errorShape: 'openai', retryAfterSeconds: 1 },
      })),
    );
    expect(deck.facts().filter((fact) => fact.kind === 'shed')).toHaveLength(2);
    expect(deck.table.totals.flights).toBe(2);
  });

  test.for(legs)('%s: after max_wait the callers of a flight are shed, one that comes to deliver later too', (leg) => {
    const { deck } = busy(leg, { admission: { maxUpstream: 1, maxQueue: 1, maxWaitMs: 5_000 } });
    const [first, second] = [deck.board(), deck.board()];
    const { ticket } = deck.hold();
    deck.commands();
    deck.pass(5_000);
    const late = deck.redeem(ticket);
    expect(deck.commands()).toEqual(
      [first, second, late].map(({ exchange }) => ({
        kind: 'refuse',
        exchange,
        answer: { status: 429, reason: 'max_wait', errorShape: 'openai', retryAfterSeconds: 1 },
      })),
    );
    expect(deck.facts().filter((fact) => fact.kind === 'shed')).toHaveLength(3);
    expect(deck.table.totals).toMatchObject({ flights: 1, queue: 0 });
  });
});

describe('a slot', () => {
  test('is given back at every ending of a flight', () => {
    const deck = new FlightDeck('detached', one);
    const ends: ((caller: ReturnType<FlightDeck['board']>) => void)[] = [
      ({ flight }) => deck.broke(flight),
      ({ flight, exchange }) => {
        deck.began(flight);
        deck.drink(exchange);
        deck.broke(flight);
      },
      ({ exchange }) => {
        deck.leave(exchange);
        deck.pass(2_000);
      },
      () => deck.pass(600_000),
      ({ flight }) => {
        deck.began(flight, { status: '500' });
        deck.ended(flight);
      },
      ({ flight }) => deck.began(flight, { status: '204' }, true),
    ];
    for (const [index, end] of ends.entries()) {
      const caller = deck.board({ key: keyNamed(`${index}`) });
      expect(deck.table.totals.queue).toBe(0);
      end(caller);
      deck.drink(caller.exchange);
    }
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.endings()).toEqual([
      'failed_connect',
      'cut',
      'abandoned',
      'first_byte_timeout',
      'failed_status',
      'landed',
    ]);
  });

  test('attached: goes with a promotion, and the queue waits on', () => {
    const deck = new FlightDeck('attached', one);
    const { exchange } = deck.lead();
    const follower = deck.board();
    deck.board({ key: keyNamed('queued') });
    deck.commands();
    deck.leave(exchange);
    expect(deck.commands()).toMatchObject([{ kind: 'promote', exchange: follower.exchange }]);
    expect(deck.table.totals.queue).toBe(1);
  });

  test('attached: is free for others while a flight waits for a ticket', () => {
    const deck = new FlightDeck('attached', one);
    const { exchange } = deck.lead();
    deck.hold();
    const queued = deck.board({ key: keyNamed('queued') });
    deck.commands();
    deck.leave(exchange);
    expect(deck.commands()).toMatchObject([{ kind: 'promote', exchange: queued.exchange }]);
  });
});

test('max_upstream 0 is no limit', () => {
  const admission = new Admission({ maxUpstream: 0, maxQueue: 0, maxWaitMs: 0 }, 1);
  expect(admission.isOpen(tenantNamed('a'), keyNamed('k'))).toBe(true);
  expect(admission.nextAdmitted(0)).toBeNull();
});
