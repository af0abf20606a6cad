/** Our own answers: each in the shape of the provider's errors. */

import { describe, expect, test } from 'vitest';

import type { ErrorShape } from '../../src/coalesce/profiles/profile.ts';
import type { OwnAnswer } from '../../src/coalesce/table/effects.ts';
import { ownReply } from '../../src/extproc/own-answer.ts';

const shed: OwnAnswer = { status: 429, reason: 'queue_full', errorShape: 'openai', retryAfterSeconds: 1 };
const late: OwnAnswer = { status: 504, reason: 'first_byte_timeout', errorShape: 'openai', retryAfterSeconds: null };

function said(answer: OwnAnswer): {
  headers: Record<string, string>;
  error: unknown;
  metadata: unknown;
  details: unknown;
} {
  const reply = ownReply(answer, 'shed');
  if (reply.kind !== 'immediate') throw new Error('no immediate reply');
  const { headers, body, metadata, details } = reply;
  return { headers: Object.fromEntries(headers), error: JSON.parse(Buffer.from(body).toString()), metadata, details };
}

const message = expect.stringMatching(/./) as unknown;

describe('an answer of our own', () => {
  test.for<[ErrorShape, 429 | 504, unknown]>([
    ['openai', 429, { error: { message, type: 'rate_limit_exceeded', param: null, code: 'queue_full' } }],
    ['openai', 504, { error: { message, type: 'server_error', param: null, code: 'first_byte_timeout' } }],
    ['anthropic', 429, { type: 'error', error: { type: 'rate_limit_error', message } }],
    ['anthropic', 504, { type: 'error', error: { type: 'timeout_error', message } }],
    ['gemini', 429, { error: { code: 429, message, status: 'RESOURCE_EXHAUSTED' } }],
    ['gemini', 504, { error: { code: 504, message, status: 'DEADLINE_EXCEEDED' } }],
    ['plain', 429, { message, error: message }],
    ['plain', 504, { message, error: message }],
  ])('to a client of %s with status %i has its shape', ([errorShape, status, error]) => {
    expect(said({ ...(status === 429 ? shed : late), errorShape }).error).toEqual(error);
  });
});

test('a shed caller is told when to retry', () => {
  expect(said(shed)).toMatchObject({
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    metadata: { outcome: 'shed', reason: 'queue_full' },
    details: 'coalesce_queue_full',
  });
});

test('a caller whose flight was too slow gets no retry-after, and its outcome stays what decide said', () => {
  const { headers, metadata } = said(late);
  expect(headers).not.toHaveProperty('retry-after');
  expect(metadata).toEqual({ reason: 'first_byte_timeout' });
});
