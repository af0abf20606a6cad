/** Our own answers: each in the shape of the provider's errors. */

import { describe, expect, it } from 'vitest';
import type { ErrorShape } from '../../src/coalesce/profiles/profile.ts';
import { ownReply } from '../../src/extproc/own-answer.ts';

function bodyOf(errorShape: ErrorShape, status: 429 | 504): unknown {
  const reason = status === 429 ? 'queue_full' : 'first_byte_timeout';
  const reply = ownReply({ status, reason, errorShape, retryAfterSeconds: status === 429 ? 1 : null }, 'shed');
  if (reply.kind !== 'immediate') throw new Error(reply.kind);
  return JSON.parse(Buffer.from(reply.body).toString());
}

const message = expect.stringMatching(/./) as unknown;

describe('an answer of our own', () => {
  it.each<[ErrorShape, 429 | 504, unknown]>([
    ['openai', 429, { error: { message, type: 'rate_limit_exceeded', param: null, code: 'queue_full' } }],
    ['openai', 504, { error: { message, type: 'server_error', param: null, code: 'first_byte_timeout' } }],
    ['anthropic', 429, { type: 'error', error: { type: 'rate_limit_error', message } }],
    ['anthropic', 504, { type: 'error', error: { type: 'timeout_error', message } }],
    ['gemini', 429, { error: { code: 429, message, status: 'RESOURCE_EXHAUSTED' } }],
    ['gemini', 504, { error: { code: 504, message, status: 'DEADLINE_EXCEEDED' } }],
    ['plain', 429, { message, error: message }],
    ['plain', 504, { message, error: message }],
  ])('to a client of %s with status %i has its shape', (shape, status, body) => {
    expect(bodyOf(shape, status)).toEqual(body);
  });
});
