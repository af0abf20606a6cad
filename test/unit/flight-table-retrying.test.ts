/** Detached: which failures are tried again, when, and what becomes of the flight meanwhile. */

import { describe, expect, test } from 'vitest';

import type { AnswerHead } from '../../src/coalesce/flight/flight.ts';
import { FlightDeck, keyNamed, nothingHeld } from '../support/flight-deck.ts';
import { sampleHead, samplePolicy } from '../support/request-samples.ts';

const retry = { maxAttempts: 3, on: ['connect_failure', '502', '503', '504'], backoffMs: 200 };
const deadlines = { firstByteMs: 1_000, idleMs: 5_000, totalMs: 3_000, waitMs: 9_000, keepAliveMs: 0 };
const policy = samplePolicy({ retry, deadlines });

function started(deck: FlightDeck): number {
  return deck.commands().filter(({ kind }) => kind === 'startCall').length;
}

describe('a call that comes to nothing before its first byte', () => {
  test('is made again after the backoff, once for all who wait, with the same request', () => {
    const deck = new FlightDeck('detached');
    const body = Buffer.from('{"the":"request"}');
    const request = { head: sampleHead(), body };
    const { flight } = deck.board({ policy, request });
    deck.board({ policy });
    deck.commands();
    deck.broke(flight);
    expect(deck.commands()).toEqual([]);
    expect(deck.phases()).toEqual(['backingOff']);
    // Half of the backoff, and half of the chance's half of it.
    deck.pass(149);
    expect(deck.commands()).toEqual([]);
    deck.pass(1);
    expect(deck.commands()).toEqual([{ kind: 'startCall', flight, request }]);
    expect(deck.facts().filter(({ kind }) => kind === 'upstreamCalled')).toHaveLength(2);
  });

  test.for([
    [0, 100, 200],
    [0.5, 150, 300],
    [0.999_999, 200, 400],
  ] as const)('with a chance of %s the backoffs are %s and %s ms', ([chance, first, second]) => {
    const deck = new FlightDeck('detached');
    deck.chance = chance;
    const { flight } = deck.board({ policy });
    for (const ms of [first, second]) {
      deck.broke(flight);
      deck.commands();
      deck.pass(ms - 1);
      expect(started(deck)).toBe(0);
      deck.pass(1);
      expect(started(deck)).toBe(1);
    }
  });

  test('after the last attempt callers are released', () => {
    const deck = new FlightDeck('detached');
    const { flight, exchange } = deck.board({ policy });
    for (let attempt = 1; attempt < 3; attempt += 1) {
      deck.broke(flight);
      deck.pass(400);
    }
    deck.commands();
    deck.broke(flight);
    expect(deck.commands()).toMatchObject([
      { kind: 'cancelCall' },
      { kind: 'release', exchange, reason: 'egress_down' },
    ]);
    expect(deck.facts()).toContainEqual(
      expect.objectContaining({
        report: expect.objectContaining({ ending: 'failed_connect', attempts: 3 }) as unknown,
      }),
    );
    expect(deck.table.totals).toEqual(nothingHeld);
  });
});

describe('a status', () => {
  test('that the policy names is tried again: nobody sees it, and its call is cancelled', () => {
    const deck = new FlightDeck('detached');
    const { flight, exchange } = deck.board({ policy });
    deck.commands();
    deck.began(flight, { status: '503' });
    expect(deck.commands()).toEqual([{ kind: 'cancelCall', flight }]);
    deck.grew(flight, 'of the cancelled call');
    deck.ended(flight);
    expect(deck.pull(exchange)).toEqual({ kind: 'nothing' });
    deck.pass(150);
    deck.began(flight, { status: '200' });
    deck.grew(flight, 'whole');
    deck.ended(flight);
    expect(deck.drink(exchange)).toEqual({ text: 'whole', ended: true });
  });

  test('of the last attempt is shared with its body', () => {
    const deck = new FlightDeck('detached');
    const { flight, exchange } = deck.board({ policy });
    for (const ms of [400, 400]) {
      deck.began(flight, { status: '503' });
      deck.pass(ms);
    }
    deck.began(flight, { status: '503' });
    deck.grew(flight, 'sorry');
    deck.ended(flight);
    expect(deck.pull(exchange)).toMatchObject({ kind: 'head', head: { status: '503' } });
    expect(deck.drink(exchange)).toEqual({ text: 'sorry', ended: true });
    expect(deck.endings()).toEqual(['failed_status']);
  });

  test.for(['200', '400', '401', '429', '500'])('%s is not named, and is shared', (status) => {
    const deck = new FlightDeck('detached');
    const { flight, exchange } = deck.board({ policy });
    deck.began(flight, { status });
    expect(deck.pull(exchange)).toMatchObject({ kind: 'head', head: { status } });
  });

  const asks = ['0', '-1', 'soon', 'Fri, 31 Dec 1999 23:59:59 GMT'];
  test.for(asks)('with a retry-after of %s is tried again after the backoff', (value) => {
    const deck = new FlightDeck('detached');
    const { flight } = deck.board({ policy });
    deck.began(flight, withRetryAfter(value));
    deck.commands();
    deck.pass(150);
    expect(started(deck)).toBe(1);
  });

  test('that asks for longer than is left is shared at once', () => {
    const deck = new FlightDeck('detached');
    const { flight, exchange } = deck.board({ policy });
    deck.began(flight, withRetryAfter('1'));
    expect(deck.pull(exchange)).toMatchObject({ kind: 'head', head: { status: '503' } });
  });
});

describe('while a flight backs off', () => {
  test('it takes joiners, keeps its slot, and who leaves it alone ends it after the grace time', () => {
    const admission = { maxUpstream: 1, maxQueue: 5, maxWaitMs: 9_000 };
    const deck = new FlightDeck('detached', { admission, orphanGraceMs: 50 });
    const { flight, exchange } = deck.board({ policy });
    deck.broke(flight);
    deck.board({ key: keyNamed('other'), policy });
    expect(deck.phases()).toEqual(['backingOff', 'queued']);
    const joiner = deck.board({ policy });
    expect(joiner.flight).toBe(flight);
    for (const each of [exchange, joiner.exchange]) deck.leave(each);
    deck.commands();
    deck.pass(50);
    expect(deck.phases()).toEqual(['calling']);
    expect(deck.endings()).toEqual(['abandoned']);
  });

  test('nobody who waits: a failure is not tried again', () => {
    const deck = new FlightDeck('detached');
    const { flight, exchange } = deck.board({ policy });
    deck.leave(exchange);
    deck.broke(flight);
    expect(deck.endings()).toEqual(['failed_connect']);
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('the deadlines count from the first call', () => {
    const deck = new FlightDeck('detached');
    const { flight } = deck.board({ policy });
    deck.pass(500);
    deck.broke(flight);
    deck.pass(499);
    expect(deck.phases()).toEqual(['calling']);
    deck.pass(1);
    expect(deck.endings()).toEqual(['first_byte_timeout']);
  });

  test('one whose time would be up before the next call is given up at once', () => {
    const deck = new FlightDeck('detached');
    const { flight } = deck.board({ policy });
    deck.pass(850);
    deck.broke(flight);
    expect(deck.endings()).toEqual(['failed_connect']);
  });

  test('the drain’s end lets its callers go', () => {
    const deck = new FlightDeck('detached');
    const { flight, exchange } = deck.board({ policy });
    deck.broke(flight);
    deck.table.breakOffAll(deck.now);
    expect(deck.commands()).toMatchObject([{ kind: 'startCall' }, { kind: 'release', exchange, reason: 'draining' }]);
    expect(deck.table.totals).toEqual(nothingHeld);
  });
});

test('attached: nothing is tried again, the leader’s route may do so', () => {
  const deck = new FlightDeck('attached');
  const { flight } = deck.lead({ policy });
  const follower = deck.board({ policy });
  deck.began(flight, { status: '503' });
  expect(deck.pull(follower.exchange)).toMatchObject({ kind: 'head', head: { status: '503' } });
});

function withRetryAfter(value: string): Partial<AnswerHead> {
  return { status: '503', headers: [['retry-after', value]] };
}
