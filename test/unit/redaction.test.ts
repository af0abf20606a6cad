/** What no output may show: each secret of the configuration, well placed and in every wrong place, against what is printed. */

import { describe, expect, it } from 'vitest';

import { check } from '../../src/cli/check.ts';

/** Long enough to be a secret, and in no message by chance. */
const marker = 'Zq7xW2mK9vT4bR8nL3cJ6hF1dS5gP0aY';

/** A line for each secret of the configuration: a new one takes a line here. */
const secrets: readonly (readonly [key: string, write: (value: string) => string])[] = [
  ['key.secret', (value) => `key: {secret: ${value}}`],
  ['redis.url', (value) => `key: {secret: ${'k'.repeat(32)}}\nredis: {url: ${value}}`],
];

const inUrl = `"redis://user:${marker}@127.0.0.1:6379"`;
const isUrl = (key: string): boolean => key.endsWith('.url');

describe.each(secrets)('%s', (key, write) => {
  const right = isUrl(key) ? inUrl : `"${marker}"`;
  it('is redacted where check prints the configuration', () => {
    const { stdout, stderr, exitCode } = check('c.yaml', () => write(right));
    expect([stderr, exitCode]).toEqual(['', 0]);
    expect(stdout).toContain('<redacted>');
    expect(stdout).not.toContain(marker);
  });

  it.each([
    ['in a list', `["${marker}"]`],
    ['in a mapping', `{a: "${marker}"}`],
    ['as a name', `{"${marker}": 1}`.replace('{', '{a: {').replace('}', '}}')],
    ['with a tag', `!${marker} x`],
    ['as an alias', `*${marker}`],
    ['not closed', `"${marker}`],
    ['of a wrong form', isUrl(key) ? `"redis://user:${marker}@"` : `"short${marker}"\nmode: on`],
    ['of another scheme', isUrl(key) ? `"http://user:${marker}@h"` : `"${marker}"\nmode: on`],
  ])('is in no mistake: %s', (_, value) => {
    const { stdout, stderr, exitCode } = check('c.yaml', () => write(value));
    expect(exitCode).toBe(1);
    expect(stdout + stderr).not.toContain(marker);
  });
});

it('a credential in a URL that is none of ours to have is in no mistake', () => {
  const { stderr, exitCode } = check('c.yaml', () => `egress: "http://user:${marker}@10.0.0.1:80"`);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('egress: ');
  expect(stderr).not.toContain(marker);
});
