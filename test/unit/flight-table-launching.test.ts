/** How a flight comes to its call: at the first ticket, by promotion, after a queue; and how its callers are let go. */

import { describe, expect, test } from 'vitest';

import { FlightDeck, keyNamed, nothingHeld } from '../support/flight-deck.ts';

describe('attached: the leader leaves before the answer began', () => {
  test('the first that waits is promoted, the others wait on, later ones follow it', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead();
    const [first, second] = [deck.board(), deck.board()];
    deck.commands();
    deck.leave(exchange);
    expect(deck.commands()).toEqual([{ kind: 'promote', exchange: first.exchange, flight }]);
    const third = deck.board();
    deck.began(flight);
    deck.grew(flight, 'answer');
    deck.ended(flight);
    for (const caller of [second, third]) expect(deck.drink(caller.exchange)).toEqual({ text: 'answer', ended: true });
    deck.leave(first.exchange);
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.table.nextDeadline).toBeNull();
  });

  test('one at a time: the next is promoted when the promoted one leaves', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead();
    const callers = [deck.board(), deck.board(), deck.board()];
    for (const [index, caller] of callers.entries()) {
      deck.leave(index === 0 ? exchange : (callers[index - 1]?.exchange ?? exchange));
      expect(deck.commands()).toEqual([{ kind: 'promote', exchange: caller.exchange, flight }]);
    }
    expect(deck.facts().filter((fact) => fact.kind === 'promoted')).toHaveLength(3);
  });

  test('beyond max_promotions the rest is released', () => {
    const deck = new FlightDeck('attached', { maxPromotions: 1 });
    const { exchange } = deck.lead();
    const [first, second] = [deck.board(), deck.board()];
    deck.leave(exchange);
    deck.commands();
    deck.leave(first.exchange);
    expect(deck.commands()).toEqual([{ kind: 'release', exchange: second.exchange, reason: 'limit' }]);
    expect(deck.endings()).toEqual(['leader_lost']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('with tickets only, the first that comes to deliver is promoted', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead();
    const { ticket } = deck.hold();
    deck.leave(exchange);
    expect(deck.phases()).toEqual(['boarding']);
    expect(deck.commands()).toEqual([]);
    const { exchange: promoted } = deck.redeem(ticket);
    expect(deck.commands()).toEqual([{ kind: 'promote', exchange: promoted, flight }]);
  });

  test('with a ticket that nobody redeems the flight ends', () => {
    const deck = new FlightDeck('attached');
    const { exchange } = deck.lead();
    deck.hold();
    deck.leave(exchange);
    deck.pass(10_000);
    expect(deck.endings()).toEqual(['abandoned']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('alone, it takes the flight with it, and the key is free', () => {
    const deck = new FlightDeck('attached');
    const { exchange } = deck.lead();
    deck.leave(exchange);
    expect(deck.facts()).toMatchObject([
      { kind: 'missed' },
      { kind: 'upstreamCalled' },
      { kind: 'callerLeft', role: 'leader' },
      { kind: 'flightEnded', report: { ending: 'abandoned', status: null, firstByteMs: null } },
    ]);
    deck.lead();
  });
});

describe('attached: the leader leaves in mid-stream', () => {
  test('callers with bytes are cut, and the rest goes on in a successor from its first byte', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead();
    const [reader, heir, second] = [deck.board(), deck.board(), deck.board()];
    deck.began(flight);
    deck.grew(flight, 'lost');
    deck.drink(reader.exchange);
    deck.commands();
    deck.leave(exchange);
    const [cut, promote] = deck.commands();
    expect(cut).toEqual({ kind: 'cut', exchange: reader.exchange, ending: 'leader_lost' });
    expect(promote).toMatchObject({ kind: 'promote', exchange: heir.exchange });
    const [successor] = deck.table.lines(deck.now);
    if (successor === undefined) throw new Error('there is no successor');
    expect(successor.id).not.toBe(flight);
    deck.began(successor.id);
    deck.grew(successor.id, 'anew');
    deck.ended(successor.id);
    expect(deck.drink(second.exchange)).toEqual({ text: 'anew', ended: true });
    expect(deck.endings()).toEqual(['leader_lost', 'landed']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('a ticket that was not redeemed yet is good for the successor', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead();
    const { ticket } = deck.hold();
    deck.began(flight);
    deck.leave(exchange);
    const { redemption } = deck.redeem(ticket);
    expect(redemption).toMatchObject({ kind: 'aboard' });
    expect(redemption).not.toMatchObject({ flight });
    expect(deck.commands().map(({ kind }) => kind)).toEqual(['promote']);
  });

  test('promotions of a flight and its successors count together', () => {
    const deck = new FlightDeck('attached', { maxPromotions: 1 });
    const { exchange, flight } = deck.lead();
    const [first, second] = [deck.board(), deck.board()];
    deck.began(flight);
    deck.leave(exchange);
    const [successor] = deck.table.lines(deck.now);
    if (successor === undefined) throw new Error('there is no successor');
    deck.began(successor.id);
    deck.commands();
    deck.leave(first.exchange);
    expect(deck.commands()).toEqual([{ kind: 'release', exchange: second.exchange, reason: 'limit' }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('with everybody in mid-stream nothing is left', () => {
    const deck = new FlightDeck('attached');
    const { exchange, flight } = deck.lead();
    const reader = deck.board();
    deck.began(flight);
    deck.grew(flight, 'lost');
    deck.drink(reader.exchange);
    deck.leave(exchange);
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.table.nextDeadline).toBeNull();
  });
});

describe('detached: callers leave', () => {
  test('the first caller leaves, and nothing changes for the others', () => {
    const deck = new FlightDeck('detached');
    const [first, second] = [deck.board(), deck.board()];
    deck.commands();
    deck.leave(first.exchange);
    expect(deck.commands()).toEqual([]);
    deck.began(second.flight);
    deck.ended(second.flight);
    expect(deck.drink(second.exchange).ended).toBe(true);
  });

  test('all leave: the call is cancelled after the grace', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.commands();
    deck.leave(exchange);
    deck.pass(1_999);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    expect(deck.commands()).toEqual([{ kind: 'cancelCall', flight }]);
    expect(deck.endings()).toEqual(['abandoned']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('a retry within the grace joins, and a later loss has a grace of its own', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.leave(exchange);
    deck.pass(1_900);
    const retry = deck.board();
    expect(retry.flight).toBe(flight);
    deck.pass(60_000);
    deck.leave(retry.exchange);
    deck.commands();
    deck.pass(1_999);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    expect(deck.commands()).toEqual([{ kind: 'cancelCall', flight }]);
  });

  test('an orphan that lands within the grace is over at once', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.leave(exchange);
    deck.began(flight);
    deck.grew(flight, 'for nobody');
    deck.ended(flight);
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.table.nextDeadline).toBeNull();
  });
});

describe('release', () => {
  test('detached: the egress is down, and callers are released one by one, the first at once', () => {
    const deck = new FlightDeck('detached', { releaseRate: 50 });
    const callers = [deck.board(), deck.board(), deck.board()];
    const flight = callers[0]?.flight;
    if (flight === undefined) throw new Error('nobody is aboard');
    deck.commands();
    deck.broke(flight);
    expect(deck.commands().filter(({ kind }) => kind === 'release')).toHaveLength(1);
    deck.pass(20);
    for (const { exchange } of callers.slice(1)) {
      expect(deck.commands()).toEqual([{ kind: 'release', exchange, reason: 'egress_down' }]);
      deck.pass(19);
      expect(deck.commands()).toEqual([]);
      deck.pass(1);
    }
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.endings()).toEqual(['failed_connect']);
  });

  test('the key is free while callers are still being released', () => {
    const deck = new FlightDeck('detached');
    const { flight } = deck.board();
    deck.board();
    deck.broke(flight);
    expect(deck.phases()).toEqual(['releasing']);
    expect(deck.hold().flight).not.toBe(flight);
  });

  test('a caller that comes to deliver while its flight is released is released in its turn', () => {
    const deck = new FlightDeck('detached');
    const { flight } = deck.board();
    const { ticket } = deck.hold();
    deck.broke(flight);
    deck.commands();
    const { exchange } = deck.redeem(ticket);
    expect(deck.commands()).toEqual([]);
    deck.pass(20);
    expect(deck.commands()).toEqual([{ kind: 'release', exchange, reason: 'egress_down' }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('the last caller that comes late to a released flight leaves nothing behind', () => {
    const deck = new FlightDeck('detached');
    const { flight } = deck.board();
    const { ticket } = deck.hold();
    deck.broke(flight);
    deck.pass(5_000);
    deck.redeem(ticket);
    expect(deck.table.totals).toEqual(nothingHeld);
    expect(deck.table.nextDeadline).toBeNull();
  });

  test('a caller that leaves before its turn does not hold up the next', () => {
    const deck = new FlightDeck('detached');
    const [first, second, third] = [deck.board(), deck.board(), deck.board()];
    deck.broke(first.flight);
    deck.leave(second.exchange);
    deck.commands();
    deck.pass(20);
    expect(deck.commands()).toEqual([{ kind: 'release', exchange: third.exchange, reason: 'egress_down' }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('detached: a break in mid-stream cuts those with bytes and releases the others', () => {
    const deck = new FlightDeck('detached');
    const [reader, waiter] = [deck.board(), deck.board()];
    deck.began(reader.flight);
    deck.grew(reader.flight, 'some');
    deck.drink(reader.exchange);
    deck.commands();
    deck.broke(reader.flight);
    expect(deck.commands()).toEqual([
      { kind: 'cancelCall', flight: reader.flight },
      { kind: 'cut', exchange: reader.exchange, ending: 'cut' },
      { kind: 'release', exchange: waiter.exchange, reason: 'egress_down' },
    ]);
    expect(deck.endings()).toEqual(['cut']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('a retry at the moment of a cut begins a new flight', () => {
    const deck = new FlightDeck('detached');
    const { flight } = deck.board();
    deck.began(flight);
    deck.grew(flight, 'some');
    deck.broke(flight);
    expect(deck.board().flight).not.toBe(flight);
  });
});

test('what is told of an exchange that has no part in any flight changes nothing', () => {
  const deck = new FlightDeck('attached');
  deck.lead({ key: keyNamed('other') });
  deck.commands();
  deck.facts();
  deck.leave(deck.newExchange());
  expect(deck.pull(deck.newExchange())).toEqual({ kind: 'nothing' });
  expect([...deck.commands(), ...deck.facts()]).toEqual([]);
});
