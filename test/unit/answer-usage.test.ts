/** Where an answer says what it cost, in each of its forms. */

import { describe, expect, test } from 'vitest';

import { AnswerEdges } from '../../src/coalesce/answer/edges.ts';
import { tokensOf } from '../../src/coalesce/answer/usage.ts';
import { anthropicMessages } from '../../src/coalesce/profiles/anthropic/messages.ts';
import { openaiChat } from '../../src/coalesce/profiles/openai/chat.ts';
import type { Usage } from '../../src/coalesce/profiles/profile.ts';

const unknown = { prompt: null, completion: null };

function tokens(contentType: string, body: string | Uint8Array, usage: Usage) {
  return tokensOf({ headers: [['x-in', '7']], contentType, body: Buffer.from(body) }, usage);
}

describe('tokens', () => {
  test('of a JSON text stand where the profile says', () => {
    const body = JSON.stringify({ usage: { prompt_tokens: 12, completion_tokens: 3 } });
    expect(tokens('application/json', body, openaiChat.usage)).toEqual({ prompt: 12, completion: 3 });
  });

  test('of a stream stand in the last event that holds each', () => {
    const body = [
      'event: message_start\ndata: {"message":{"usage":{"input_tokens":9,"output_tokens":1}}}',
      'data: {"type":"message_delta","usage":{"output_tokens":2}}',
      'data: {"type":"message_delta","usage":{"output_tokens":5}}',
      'data: [DONE]',
    ].join('\n\n');
    expect(tokens('text/event-stream', body, anthropicMessages.usage)).toEqual({ prompt: 9, completion: 5 });
  });

  test('may stand in headers', () => {
    const usage: Usage = { answer: { in: 'headers', prompt: ['x-in'], completion: ['x-out'] }, stream: null };
    expect(tokens('application/json', '{}', usage)).toEqual({ prompt: 7, completion: null });
  });

  test.for([
    '{}',
    '[',
    '{"usage":{"prompt_tokens":"12"}}',
    '{"usage":{"prompt_tokens":-1}}',
    '{"usage":{"prompt_tokens":1.5}}',
    '{"usage":null}',
  ])('of %s are unknown', (body) => expect(tokens('application/json', body, openaiChat.usage)).toEqual(unknown));

  test('of an endpoint that says nothing are unknown', () => {
    expect(tokens('application/json', '{}', { answer: null, stream: null })).toEqual(unknown);
  });
});

describe('the edges of an answer', () => {
  const filler = `data: ${'x'.repeat(1000)}\n\n`;
  const start = 'data: {"message":{"usage":{"input_tokens":9}}}\n\n';
  const end = 'data: {"usage":{"output_tokens":5}}\n\n';

  test.for([0, 3, 20, 50, 5_000])('hold the usage of a stream with %i events in between, in little room', (count) => {
    for (const size of [1, 700, 100_000]) {
      const edges = new AnswerEdges();
      const whole = Buffer.from(start + filler.repeat(count > 50 && size === 1 ? 60 : count) + end);
      for (let at = 0; at < whole.length; at += size) edges.push(whole.subarray(at, at + size));
      const bytes = edges.bytes();
      expect(bytes.length).toBeLessThanOrEqual(Math.min(whole.length, 110_000));
      if (whole.length <= 40_000) expect(Buffer.from(bytes).equals(whole)).toBe(true);
      expect(tokens('text/event-stream', bytes, anthropicMessages.usage)).toEqual({ prompt: 9, completion: 5 });
    }
  });
});
