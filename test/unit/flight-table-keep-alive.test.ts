/** Comments for silent event streams: when they are due, and to whom. */

import { describe, expect, test } from 'vitest';

import type { AnswerHead } from '../../src/coalesce/flight/flight.ts';
import { FlightDeck } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

const deadlines = { firstByteMs: 9_000, idleMs: 1_000, totalMs: 9_000, waitMs: 9_000, keepAliveMs: 100 };
const policy = samplePolicy({ deadlines });
const silent = { kind: 'nothing' };
const comment = { kind: 'keepAlive' };

/** A detached flight whose only caller has read all there is. */
function reading(head: Partial<AnswerHead> = {}, text = '') {
  const deck = new FlightDeck('detached');
  const { flight, exchange } = deck.board({ policy });
  deck.began(flight, head);
  deck.grew(flight, text);
  deck.drink(exchange);
  deck.commands();
  return { deck, flight, exchange };
}

describe('a caller that has read everything', () => {
  test.for(['', 'data: 1\n\n', 'data: 1\r\n\r\n', ': one\n\ndata: 2\n\n'])(
    'is sent one after keep_alive behind %j',
    (text) => {
      const { deck, exchange } = reading({}, text);
      deck.pass(99);
      expect(deck.commands()).toEqual([]);
      deck.pass(1);
      expect(deck.commands()).toEqual([{ kind: 'wake', exchange }]);
      expect([deck.pull(exchange), deck.pull(exchange)]).toEqual([comment, silent]);
      deck.pass(100);
      expect(deck.pull(exchange)).toEqual(comment);
    },
  );

  test.for(['d', 'data: 1', 'data: 1\n', 'data: 1\n\ndata'])('is sent none within an event: %j', (text) => {
    const { deck, flight, exchange } = reading({}, text);
    deck.pass(350);
    expect(deck.pull(exchange)).toEqual(silent);
    deck.grew(flight, '\n\n');
    deck.drink(exchange);
    deck.pass(100);
    expect(deck.pull(exchange)).toEqual(comment);
  });

  test('is sent the answer’s bytes instead, where they come first', () => {
    const { deck, flight, exchange } = reading();
    deck.pass(100);
    deck.grew(flight, 'data: 1\n\n');
    expect(deck.pull(exchange)).toMatchObject({ kind: 'bytes' });
    expect(deck.pull(exchange)).toEqual(silent);
  });

  test('is cut at idle all the same: a comment is no sign of the upstream', () => {
    const { deck } = reading();
    deck.pass(1_000);
    expect(deck.endings()).toEqual(['idle_timeout']);
  });
});

const others: [string, Partial<AnswerHead>][] = [
  ['no event stream', { headers: [['content-type', 'application/json']] }],
  ['of a promised length', { contentLength: 50 }],
  [
    'compressed',
    {
      headers: [
        ['content-type', 'text/event-stream'],
        ['content-encoding', 'gzip'],
      ],
    },
  ],
];

test.for(others)('an answer that is %s gets none', ([, head]) => {
  const { deck, exchange } = reading(head);
  deck.pass(500);
  expect(deck.pull(exchange)).toEqual(silent);
});

test('nobody gets one where the policy does not ask for it', () => {
  const deck = new FlightDeck('detached');
  const { flight, exchange } = deck.board();
  deck.began(flight);
  deck.drink(exchange);
  deck.pass(60_000);
  expect(deck.pull(exchange)).toEqual(silent);
});

test('one that is behind, or has no head yet, gets none; later joiners get nothing of earlier ones', () => {
  const deck = new FlightDeck('detached');
  const [reader, behind] = [deck.board({ policy }), deck.board({ policy })];
  deck.began(reader.flight);
  deck.drink(reader.exchange);
  deck.pull(behind.exchange);
  deck.grew(reader.flight, 'data: 1\n\n');
  deck.drink(reader.exchange);
  deck.commands();
  deck.pass(100);
  expect(deck.commands()).toEqual([{ kind: 'wake', exchange: reader.exchange }]);
  const late = deck.board({ policy });
  for (const { exchange } of [behind, late]) expect(deck.drink(exchange).text).toBe('data: 1\n\n');
});

test('attached: followers get them', () => {
  const deck = new FlightDeck('attached');
  const { flight } = deck.lead({ policy });
  const follower = deck.board({ policy });
  deck.began(flight);
  deck.drink(follower.exchange);
  deck.pass(100);
  expect(deck.pull(follower.exchange)).toEqual(comment);
});
