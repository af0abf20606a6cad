/**
 * Which calls of an endpoint have one key: pairs of bodies and of heads, in test/data/endpoints.
 */

import { describe, expect, it } from 'vitest';
import { casePolicy, readCases, resultOf, type CaseRequest } from '../support/endpoint-cases.ts';

type Expected = 'same' | 'different' | 'reject';

function expectPair(left: string, right: string, expected: Expected): void {
  const isKey = (result: string): boolean => /^[0-9a-f]{64}$/.test(result);
  if (expected === 'reject') expect([left, right].filter(isKey)).toEqual([]);
  else {
    expect([left, right].filter((result) => !isKey(result))).toEqual([]);
    expect(left === right ? 'same' : 'different').toBe(expected);
  }
}

type BodyRow = readonly [sample: string, left: string, right: string, expected: Expected];

describe('two bodies', () => {
  it.each(readCases<readonly BodyRow[]>('bodies.yaml'))('to %s: %s / %s: %s', (sample, left, right, expected) => {
    expectPair(resultOf(sample, { also: left }), resultOf(sample, { also: right }), expected);
  });
});

type HeadRow = readonly [sample: string, left: CaseRequest, right: CaseRequest, expected: Expected];

describe('two heads', () => {
  it.each(readCases<readonly HeadRow[]>('heads.yaml'))('to %s: %j / %j: %s', (sample, left, right, expected) => {
    expectPair(resultOf(sample, left), resultOf(sample, right), expected);
  });
});

describe('who asks', () => {
  const keeping = casePolicy({ identity: 'keep' });

  it.each([
    ['chat', '"user":"a"'],
    ['completions', '"user":"a"'],
    ['embeddings', '"user":"a"'],
    ['anthropic', '"metadata":{"user_id":"a"}'],
    ['converse', '"requestMetadata":{"team":"a"}'],
  ])('counts for %s with %s where the policy keeps identity', (sample, also) => {
    expectPair(resultOf(sample, { also }, keeping), resultOf(sample, {}, keeping), 'different');
  });

  it('counts in a header too', () => {
    const headers = { 'x-amzn-bedrock-request-metadata': 'a' };
    expectPair(resultOf('converse', { headers }, keeping), resultOf('converse', {}, keeping), 'different');
  });
});
