/** What a caller in deliver gets, piece by piece, and what is held for it. */

import { describe, expect, test } from 'vitest';

import { answerHead, FlightDeck, keyNamed, nothingHeld } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

describe('the pieces of an answer', () => {
  test('head, bytes as they come, and the end with nothing after it', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    expect(deck.pull(exchange)).toEqual({ kind: 'nothing' });
    deck.began(flight);
    expect(deck.pull(exchange)).toEqual({
      kind: 'head',
      head: answerHead(),
      role: 'leader',
      freshForMs: null,
      endOfStream: false,
    });
    deck.grew(flight, 'one');
    expect(deck.pull(exchange)).toEqual({ kind: 'bytes', bytes: Buffer.from('one'), endOfStream: false });
    expect(deck.pull(exchange)).toEqual({ kind: 'nothing' });
    deck.ended(flight);
    expect(deck.pull(exchange)).toEqual({ kind: 'end' });
    expect(deck.pull(exchange)).toEqual({ kind: 'nothing' });
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('the last bytes carry the end where it is known by then', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.began(flight);
    deck.pull(exchange);
    deck.grew(flight, 'all');
    deck.ended(flight);
    expect(deck.pull(exchange)).toMatchObject({ kind: 'bytes', endOfStream: true });
  });

  test('a promised length is the end: it comes with the last byte', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.began(flight, { contentLength: 3 });
    deck.pull(exchange);
    deck.grew(flight, 'all');
    expect(deck.pull(exchange)).toMatchObject({ kind: 'bytes', endOfStream: true });
    deck.ended(flight);
    expect(deck.endings()).toEqual(['landed']);
  });

  test.for([
    ['204', null],
    ['200', 0],
  ] as const)('an answer of status %s and length %s ends with its head', ([status, contentLength]) => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.began(flight, { status, contentLength }, contentLength === null);
    expect(deck.pull(exchange)).toMatchObject({ kind: 'head', endOfStream: true });
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('trailers come last, after the bytes and after an empty body', () => {
    for (const text of ['', 'bytes']) {
      const deck = new FlightDeck('detached');
      const { exchange, flight } = deck.board();
      deck.began(flight);
      deck.grew(flight, text);
      deck.ended(flight, [['x-t', '1']]);
      expect(deck.pull(exchange)).toMatchObject({ kind: 'head', endOfStream: false });
      if (text !== '') expect(deck.pull(exchange)).toMatchObject({ kind: 'bytes', endOfStream: false });
      expect(deck.pull(exchange)).toEqual({ kind: 'trailers', trailers: [['x-t', '1']] });
      expect(deck.table.totals).toEqual(nothingHeld);
    }
  });

  test('an error status goes to all with its body, and ends the flight', () => {
    const deck = new FlightDeck('detached');
    const callers = [deck.board(), deck.board()] as const;
    deck.began(callers[0].flight, { status: '429' });
    deck.grew(callers[0].flight, 'slow down');
    deck.ended(callers[0].flight);
    for (const { exchange } of callers) expect(deck.drink(exchange)).toEqual({ text: 'slow down', ended: true });
    expect(deck.endings()).toEqual(['failed_status']);
    expect(deck.board().flight).not.toBe(callers[0].flight);
  });

  test.each([
    [false, ['landed'], { text: 'whole', ended: true }],
    [true, [], { text: 'whole', ended: false }],
  ])('all promised bytes are the end, unless trailers are named: %s', (announcesTrailers, endings, drunk) => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.began(flight, { contentLength: 5, announcesTrailers });
    deck.grew(flight, 'whole');
    expect([deck.endings(), deck.drink(exchange)]).toEqual([endings, drunk]);
    deck.ended(flight);
    if (announcesTrailers) expect(deck.drink(exchange)).toMatchObject({ text: '', ended: true });
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('a body shorter than its promised length is cut, never ended', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.began(flight, { contentLength: 9 });
    deck.grew(flight, 'short');
    expect(deck.drink(exchange)).toEqual({ text: 'short', ended: false });
    deck.ended(flight);
    expect(deck.commands()).toContainEqual({ kind: 'cut', exchange, ending: 'cut' });
    expect(deck.endings()).toEqual(['cut']);
  });

  test('detached: the first caller is the leader, the others are followers', () => {
    const deck = new FlightDeck('detached');
    const callers = [deck.board(), deck.board()] as const;
    deck.began(callers[0].flight);
    expect(callers.map(({ exchange }) => deck.pull(exchange))).toMatchObject([
      { role: 'leader' },
      { role: 'follower' },
    ]);
  });

  test('attached: who gets the answer in deliver is a follower, even one that was to lead and came second', () => {
    const deck = new FlightDeck('attached', { admission: { maxUpstream: 1, maxQueue: 9, maxWaitMs: 30_000 } });
    const busy = deck.lead({ key: keyNamed('busy') });
    const meantToLead = deck.hold();
    deck.leave(busy.exchange);
    const quicker = deck.board();
    const { exchange } = deck.redeem(meantToLead.ticket);
    expect(deck.commands()).toContainEqual(expect.objectContaining({ kind: 'promote', exchange: quicker.exchange }));
    deck.began(quicker.flight);
    expect(deck.pull(exchange)).toMatchObject({ kind: 'head', role: 'follower' });
  });

  test('what comes for a flight that is over is ignored', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.began(flight);
    deck.ended(flight);
    deck.drink(exchange);
    deck.began(flight);
    deck.grew(flight, 'late');
    deck.ended(flight);
    deck.broke(flight);
    expect(deck.endings()).toEqual(['landed']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('bytes before the head and a second head are ignored', () => {
    const deck = new FlightDeck('detached');
    const { exchange, flight } = deck.board();
    deck.grew(flight, 'early');
    deck.ended(flight);
    deck.began(flight);
    deck.began(flight, { status: '500' });
    deck.grew(flight, 'right');
    expect(deck.pull(exchange)).toMatchObject({ head: { status: '200' } });
    expect(deck.drink(exchange).text).toBe('right');
  });
});

describe('what is held', () => {
  const few = samplePolicy({ lateJoin: { maxEvents: 1000, maxBytes: 3, maxAgeMs: 60_000 } });

  test('while others may still join, every byte', () => {
    const deck = new FlightDeck('attached');
    const { flight } = deck.lead();
    deck.began(flight);
    for (const text of ['one', 'two']) deck.grew(flight, text);
    expect(deck.table.totals.replayBytes).toBe(6);
  });

  test('once nobody may join any more, only what the slowest reader still needs', () => {
    const deck = new FlightDeck('attached');
    const { flight } = deck.lead({ policy: few });
    const [slow, quick] = [deck.board({ policy: few }), deck.board({ policy: few })];
    deck.began(flight);
    for (const text of ['one', 'two', 'six']) {
      deck.grew(flight, text);
      deck.drink(quick.exchange);
    }
    expect(deck.table.totals.replayBytes).toBe(9);
    deck.leave(slow.exchange);
    expect(deck.table.totals.replayBytes).toBe(0);
    deck.grew(flight, 'ten');
    expect(deck.table.totals.replayBytes).toBe(3);
  });

  test('attached: with nobody aboard and nobody to come, nothing', () => {
    const deck = new FlightDeck('attached');
    const { flight } = deck.lead({ policy: few });
    deck.began(flight);
    for (const text of ['one', 'two', 'six']) deck.grew(flight, text);
    expect(deck.table.totals.replayBytes).toBe(0);
  });
});

describe('the replay cap', () => {
  test('over it, joiners lead a new generation, and those on board stream on', () => {
    const deck = new FlightDeck('attached', { maxReplayBytes: 5 });
    const { flight } = deck.lead();
    const reader = deck.board();
    deck.began(flight);
    let text = '';
    for (const chunk of ['1234', '56', '789']) {
      deck.grew(flight, chunk);
      text += deck.drink(reader.exchange).text;
    }
    expect(deck.lead().flight).not.toBe(flight);
    expect(deck.facts()).toContainEqual({ kind: 'lateJoinRejected', reason: 'bytes' });
    deck.ended(flight);
    expect(deck.drink(reader.exchange).ended).toBe(true);
    expect(text).toBe('123456789');
  });

  test('a reader that lags by more than it is cut, one without bytes is released, a ticket is void', () => {
    const deck = new FlightDeck('attached', { maxReplayBytes: 5 });
    const { flight } = deck.lead();
    const [quick, laggard, waiter] = [deck.board(), deck.board(), deck.board()];
    const { ticket } = deck.hold();
    deck.began(flight);
    deck.drink(laggard.exchange);
    deck.grew(flight, '1234');
    deck.drink(quick.exchange);
    deck.commands();
    deck.grew(flight, '56');
    expect(deck.commands()).toEqual([
      { kind: 'cut', exchange: laggard.exchange, ending: 'cut' },
      { kind: 'release', exchange: waiter.exchange, reason: 'limit' },
      { kind: 'wake', exchange: quick.exchange },
    ]);
    expect(deck.redeem(ticket).redemption).toEqual({ kind: 'unknown' });
    expect(deck.drink(quick.exchange).text).toBe('56');
    expect(deck.table.totals.replayBytes).toBe(2);
  });

  test('detached: the call is held up until its fastest reader has caught up, and nobody is cut for its speed', () => {
    const deck = new FlightDeck('detached', { maxReplayBytes: 5 });
    const { exchange, flight } = deck.board();
    const other = deck.board();
    deck.began(flight);
    deck.drink(exchange);
    deck.drink(other.exchange);
    deck.commands();
    deck.grew(flight, '123456');
    expect(deck.commands()).toContainEqual({ kind: 'holdCall', flight });
    deck.grew(flight, '7');
    expect(deck.commands()).not.toContainEqual({ kind: 'holdCall', flight });
    expect(deck.drink(exchange).text).toBe('1234567');
    expect(deck.commands()).toEqual([{ kind: 'resumeCall', flight }]);
    expect(deck.drink(other.exchange).text).toBe('1234567');
  });

  test('detached: a reader that lags behind the fastest by more than it is cut', () => {
    const deck = new FlightDeck('detached', { maxReplayBytes: 5 });
    const { exchange, flight } = deck.board();
    const laggard = deck.board();
    deck.began(flight);
    deck.drink(exchange);
    deck.drink(laggard.exchange);
    deck.grew(flight, '123');
    deck.drink(exchange);
    deck.grew(flight, '456');
    deck.drink(exchange);
    deck.commands();
    deck.grew(flight, '7');
    expect(deck.commands()).toContainEqual({ kind: 'cut', exchange: laggard.exchange, ending: 'cut' });
    expect(deck.drink(exchange).text).toBe('7');
  });

  test('detached: a held-up call whose readers have all left is cancelled after the grace', () => {
    const deck = new FlightDeck('detached', { maxReplayBytes: 5 });
    const { exchange, flight } = deck.board();
    deck.began(flight);
    deck.drink(exchange);
    deck.grew(flight, '123456');
    deck.leave(exchange);
    deck.commands();
    deck.pass(2_000);
    expect(deck.commands()).toEqual([{ kind: 'cancelCall', flight }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('in all: a reader that holds more than its flight’s even share of the total is let go, the others stay', () => {
    const deck = new FlightDeck('attached', { maxReplayBytesTotal: 10 });
    const flights = ['a', 'b'].map((name) => ({
      ...deck.lead({ key: keyNamed(name) }),
      caller: deck.board({ key: keyNamed(name) }),
    }));
    for (const { flight, caller } of flights) {
      deck.began(flight);
      deck.drink(caller.exchange);
    }
    const [big, small] = flights;
    if (big === undefined || small === undefined) throw new Error('there are two');
    deck.grew(small.flight, '123');
    deck.grew(big.flight, '1234567');
    deck.commands();
    deck.grew(small.flight, '45');
    expect(deck.commands()).toEqual([{ kind: 'wake', exchange: small.caller.exchange }]);
    deck.grew(big.flight, '8');
    expect(deck.commands()).toEqual([{ kind: 'cut', exchange: big.caller.exchange, ending: 'cut' }]);
    expect(deck.table.totals.replayBytes).toBe(5);
  });
});
