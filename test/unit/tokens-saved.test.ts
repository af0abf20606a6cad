/** What a flight that landed says its followers did not cost. */

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
