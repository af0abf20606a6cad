import { describe, expect, it } from 'vitest';

import { inlinePolicy, policyBook } from '../../src/config/inline-policy.ts';
import { defaultConfig } from '../../src/config/read.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';

const base = defaultConfig().policy;

function policy(text: string, from: Policy = base): Policy {
  const result = inlinePolicy(from, text);
  if (result.kind === 'mistake') throw new Error(result.message);
  return result.policy;
}

function mistake(text: string): string {
  const result = inlinePolicy(base, text);
  return result.kind === 'mistake' ? result.message : '';
}

describe('an inline policy', () => {
  it('changes what it says and keeps the rest', () => {
    const { epoch, ...changed } = policy('{"sampling":"any"}');
    const { epoch: baseEpoch, ...before } = base;
    expect(changed).toEqual({ ...before, name: 'inline', sampling: 'any' });
    expect(epoch).not.toBe(baseEpoch);
  });

  it('may say a part of a part', () => {
    const changed = policy(
      '{"limits":{"max_waiters":1000},"late_join":{"max_age":"1s"},"tenant":{"anonymous":"share"},"deadlines":{"idle":"1s"}}',
    );
    expect(changed.maxWaiters).toBe(1000);
    expect(changed.lateJoin).toEqual({ ...base.lateJoin, maxAgeMs: 1000 });
    expect(changed.tenant).toEqual({ ...base.tenant, anonymous: 'share' });
    expect(changed.deadlines).toEqual({ ...base.deadlines, idleMs: 1000 });
  });

  it('builds on the base that it is given', () => {
    const careful = policy('mode: shadow');
    expect(policy('{tools: allow}', careful)).toMatchObject({ mode: 'shadow', tools: 'allow' });
  });

  it('of the same content has the same epoch, however it is written', () => {
    expect(policy('{"sampling":"any","mode":"off"}').epoch).toBe(policy('mode: off\nsampling: any').epoch);
    expect(policy('{}').epoch).toBe(base.epoch);
  });

  it.each([
    ['careful', 'no policy of the name "careful"'],
    ['[1]', 'a list is neither'],
    ['5', '5 is neither'],
    ['{"sampling":', 'not valid YAML'],
    ['{"mode":"off","mode":"shadow"}', 'mode: given twice'],
    ['{"sampling":"some"}', 'sampling: "some" is not allowed, expected one of deterministic, seeded, any'],
    ['{"smapling":"any"}', 'smapling: unknown key, the nearest known key is sampling'],
    ['{"listen":"127.0.0.1:1"}', 'listen: belongs in the configuration file, not in a policy'],
    ['{"limits":{"max_flights":1}}', 'limits.max_flights: belongs in the configuration file, not in a policy'],
    ['{"rollout":101}', 'rollout: 101 is not allowed, expected a number from 0 to 100'],
    ['{"key":{"secret":"x"}}', 'key.secret: belongs in the configuration file, not in a policy'],
    ['{"key":{"ignore_headers":["x-api-key"]}}', 'x-api-key" proves or tells who asks'],
    [
      '{"tenant":{"from":[{"header":"x-team"}]},"key":{"ignore_headers":["x-team"]}}',
      'key.ignore_headers[0]: x-team is a source of tenant.from',
    ],
    ['{"match":{"route":"a"}}', 'match: unknown key'],
    ['{"deadlines":{"wait":"2h"}}', 'deadlines.wait: "2h" is not allowed'],
    [`{"mode":"${'x'.repeat(20_000)}"}`, 'longer than 16384 characters'],
  ])('%s is a mistake', (text, expected) => {
    expect(mistake(text)).toContain(expected);
  });

  it('tells every mistake in one message', () => {
    expect(mistake('{"mode":"on","tools":"some"}').split('; ')).toHaveLength(2);
  });
});

describe('a policy book', () => {
  it('knows the base as default, and the named ones', () => {
    const named = policy('mode: shadow');
    const book = policyBook(base, [{ policy: { ...named, name: 'careful' }, match: null }]);
    expect(book('default')).toEqual({ kind: 'policy', policy: base });
    expect(book('careful')).toMatchObject({ policy: { name: 'careful', mode: 'shadow' } });
    expect(book('Careful').kind).toBe('mistake');
  });

  it('reads a text once', () => {
    const book = policyBook(base, []);
    expect(book('{"mode":"off"}')).toBe(book('{"mode":"off"}'));
    expect(book('careful')).toBe(book('careful'));
  });

  it('remembers 64 texts and forgets the oldest first', () => {
    const book = policyBook(base, []);
    const text = (i: number): string => `{"limits":{"max_waiters":${i}}}`;
    const first = book(text(1));
    const second = book(text(2));
    for (let i = 3; i <= 65; i += 1) book(text(i));
    expect(book(text(2))).toBe(second);
    expect(book(text(1))).not.toBe(first);
    expect(book(text(1))).toEqual(first);
  });
});
