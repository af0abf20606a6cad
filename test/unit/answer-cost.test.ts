/** What an answer cost: told to its callers with their last piece, and counted as saved for each follower. */

import { describe, expect, test } from 'vitest';

import { openaiChat } from '../../src/coalesce/profiles/openai/chat.ts';
import { answerHead, FlightDeck } from '../support/flight-deck.ts';

const usage = JSON.stringify({ usage: { prompt_tokens: 12, completion_tokens: 3 } });
const jsonHead = answerHead({ headers: [['content-type', 'application/json']] });

function saved(followers: number, answer: { head?: typeof jsonHead; pieces: readonly string[] }): unknown[] {
  const deck = new FlightDeck('attached');
  const { decision } = deck.arrive({ usage: openaiChat.usage });
  if (decision.kind !== 'lead') throw new Error('no leader');
  for (let index = 0; index < followers; index += 1) deck.arrive({ usage: openaiChat.usage });
  deck.table.answerBegan(decision.flight, { head: answer.head ?? jsonHead, endOfStream: false, now: 0 });
  for (const piece of answer.pieces) deck.table.answerGrew(decision.flight, { bytes: Buffer.from(piece), now: 0 });
  deck.table.answerEnded(decision.flight, { trailers: null, now: 0 });
  return deck.facts().filter(({ kind }) => kind === 'tokensSaved');
}

describe('tokens saved', () => {
  test('are the answer’s usage for each follower', () => {
    expect(saved(3, { pieces: [usage.slice(0, 9), usage.slice(9)] })).toEqual([
      { kind: 'tokensSaved', model: 'gpt-4o-mini', prompt: 36, completion: 9 },
    ]);
  });

  test('are none without followers, without usage, and of an error', () => {
    expect(saved(0, { pieces: [usage] })).toEqual([]);
    expect(saved(2, { pieces: ['{}'] })).toEqual([]);
    expect(saved(2, { pieces: [usage], head: { ...jsonHead, status: '429' } })).toEqual([]);
  });

  test('of a stream that outgrew late_join are found at its end', () => {
    const filler = Array.from(
      { length: 2_000 },
      () => `data: {"choices":[{"delta":{"content":"${'x'.repeat(500)}"}}]}\n\n`,
    );
    expect(saved(1, { pieces: [...filler, `data: ${usage}\n\ndata: [DONE]\n\n`], head: answerHead() })).toEqual([
      { kind: 'tokensSaved', model: 'gpt-4o-mini', prompt: 12, completion: 3 },
    ]);
  });
});

describe('what an answer cost', () => {
  const tokens = { prompt: 12, completion: 3 };
  const told = (
    pieces: readonly string[],
    head = jsonHead,
  ): { leader: unknown; follower: unknown; report: unknown } => {
    const deck = new FlightDeck('attached');
    const { decision } = deck.arrive({ usage: openaiChat.usage });
    if (decision.kind !== 'lead') throw new Error('no leader');
    const { exchange } = deck.board({ usage: openaiChat.usage });
    deck.began(decision.flight, head);
    for (const piece of pieces) deck.grew(decision.flight, piece);
    const leader = deck.table.answerEnded(decision.flight, { trailers: null, now: 0 });
    deck.pull(exchange);
    const ended = deck.facts().find(({ kind }) => kind === 'flightEnded');
    return { leader, follower: deck.pull(exchange), report: ended };
  };

  test('is told to the leader, to a follower with its last piece, and in the flight’s report', () => {
    const { leader, follower, report } = told([usage]);
    expect(leader).toEqual(tokens);
    expect(follower).toMatchObject({ kind: 'bytes', endOfStream: true, tokens });
    expect(report).toMatchObject({ report: { tokens } });
  });

  test('is told with the bytes that complete a promised length', () => {
    const deck = new FlightDeck('attached');
    const { decision } = deck.arrive({ usage: openaiChat.usage });
    if (decision.kind !== 'lead') throw new Error('no leader');
    deck.began(decision.flight, { ...jsonHead, contentLength: usage.length });
    const grow = (text: string): unknown => {
      return deck.table.answerGrew(decision.flight, { bytes: Buffer.from(text), now: 0 });
    };
    expect([grow(usage.slice(0, 9)), grow(usage.slice(9))]).toEqual([null, tokens]);
  });

  test('is unknown where the answer says nothing, and nothing is told of an error', () => {
    for (const { leader, follower } of [told(['{}']), told([usage], { ...jsonHead, status: '500' })]) {
      expect(leader).toBeNull();
      expect(follower).not.toHaveProperty('tokens');
    }
  });
});
