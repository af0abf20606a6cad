import { describe, expect, test } from 'vitest';

import type { OwnAnswer } from '../../src/coalesce/table/effects.ts';
import { ownReply } from '../../src/extproc/own-answer.ts';

const shed: OwnAnswer = { status: 429, reason: 'queue_full', errorShape: 'openai', retryAfterSeconds: 1 };
const late: OwnAnswer = { status: 504, reason: 'idle_timeout', errorShape: 'openai', retryAfterSeconds: null };

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

describe('a shed caller', () => {
  test('is told when to retry, in OpenAI’s manner', () => {
    expect(said(shed)).toMatchObject({
      headers: { 'content-type': 'application/json', 'retry-after': '1' },
      error: { error: { type: 'rate_limit_exceeded', code: 'queue_full', param: null, message: expect.any(String) } },
      metadata: { outcome: 'shed', reason: 'queue_full' },
      details: 'coalesce_queue_full',
    });
  });

  test('is told so in Anthropic’s manner', () => {
    expect(said({ ...shed, errorShape: 'anthropic' }).error).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', message: expect.any(String) },
    });
  });
});

describe('a caller whose flight was too slow', () => {
  test('gets no retry-after, and its outcome stays what decide said', () => {
    const { headers, error, metadata } = said(late);
    expect(headers).not.toHaveProperty('retry-after');
    expect(error).toMatchObject({ error: { type: 'server_error', code: 'idle_timeout' } });
    expect(metadata).toEqual({ reason: 'idle_timeout' });
    expect(said({ ...late, errorShape: 'anthropic' }).error).toMatchObject({ error: { type: 'timeout_error' } });
  });
});
