/** `redis` and `admission.scope`: every form of the URL, what is refused, what a reload keeps. */
import { describe, expect, test } from 'vitest';
import { renderEffective } from '../../src/config/effective.ts';
import { formatRedisUrl, parseRedisUrl } from '../../src/config/fleet/redis-url.ts';
import { printMistake } from '../../src/config/mistakes/mistakes.ts';
import { readConfig } from '../../src/config/read.ts';
import { reconfigured } from '../../src/config/reloading/reconfigured.ts';
import { readShipped } from '../support/deployed.ts';
import type { Config } from '../../src/config/definition.ts';

const secret = 'key: {secret: 0123456789abcdef0123456789abcdef}\n';

function read(text: string): Config {
  const result = readConfig(text, { file: 'c.yaml', readFile: () => '' });
  if (result.kind === 'mistakes') throw new Error(result.mistakes.map(printMistake).join('\n'));
  return result.config;
}

function mistakes(text: string): string[] {
  const result = readConfig(text, { file: 'c.yaml', readFile: () => '' });
  return result.kind === 'mistakes' ? result.mistakes.map(printMistake) : [];
}

const access = { tls: false, username: null, password: null };
const local = { host: 'h', port: 6379 };

describe('the URL of a Redis', () => {
  test.each([
    ['redis://h', { kind: 'single', server: local, database: 0, ...access }],
    ['redis://h/', { kind: 'single', server: local, database: 0, ...access }],
    ['redis://[::1]:7000/2', { kind: 'single', server: { host: '::1', port: 7000 }, database: 2, ...access }],
    ['rediss://u:p%40%2F@h', { kind: 'single', server: local, database: 0, tls: true, username: 'u', password: 'p@/' }],
    ['redis://:p:q@h', { kind: 'single', server: local, database: 0, ...access, password: 'p:q' }],
    [
      'redis+cluster://a:1,b:2',
      {
        kind: 'cluster',
        seeds: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
        ...access,
      },
    ],
    ['rediss+cluster://a', { kind: 'cluster', seeds: [{ host: 'a', port: 6379 }], ...access, tls: true }],
    [
      'redis+sentinel://a,b:2/mine/1?sentinel_password=x%26',
      {
        kind: 'sentinel',
        sentinels: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 2 },
        ],
        sentinelPassword: 'x&',
        master: 'mine',
        database: 1,
        ...access,
      },
    ],
  ])('%s is read', (text, expected) => {
    const url = parseRedisUrl(text);
    expect(url).toEqual(expected);
  });

  test.each(['redis://h', 'redis://[::1]:7000/2', 'redis+cluster://a:1,b:2', 'redis+sentinel://a:1/mine/1'])(
    '%s, printed, is read as the same',
    (text) => {
      const url = parseRedisUrl(text);
      expect(url === null ? null : parseRedisUrl(formatRedisUrl(url))).toEqual(url);
    },
  );

  test.each([
    'h:6379',
    'http://h',
    'redis:///',
    'redis://a,b',
    'redis://h:0',
    'redis://h:65536',
    'redis://h/x',
    'redis://h/1/2',
    'redis://h?a=b',
    'redis://user@h',
    'redis://u:%zz@h',
    'redis+cluster://h/1',
    'redis+sentinel://h',
    'redis+sentinel://h/m/1/2',
    'redis+sentinel://h/m?password=x',
    'redis+other://h',
  ])('%s is none', (text) => {
    expect(parseRedisUrl(text)).toBeNull();
  });

  test('is printed without its passwords', () => {
    const printed = renderEffective(
      read(`${secret}redis: {url: 'redis+sentinel://me:hidden@h/m?sentinel_password=hidden'}`),
    );
    expect(printed).toContain('redis+sentinel://me:<redacted>@h:26379/m?sentinel_password=<redacted>');
    expect(printed).not.toContain('hidden');
  });

  test('is never repeated where it is refused', () => {
    const [mistake = ''] = mistakes(`${secret}redis: {url: 'redis://hidden@h'}`);
    expect(mistake).toMatch(/^c.yaml:2: redis.url: not the URL of a Redis, expected redis:/);
    expect(mistake).not.toContain('hidden');
  });
});

test('the configuration in docs/multi-instance.md is one', () => {
  const [block] = [...readShipped('docs/multi-instance.md').matchAll(/^```yaml\n(.*?)^```$/gms)];
  const result = readConfig(block?.[1] ?? '', { file: 'c.yaml', readFile: () => 'x'.repeat(32) });
  if (result.kind === 'mistakes') throw new Error(result.mistakes.map(printMistake).join('\n'));
  expect(result.config.redis).toMatchObject({ prefix: 'coalesce:', leaseMs: 5000, budgetMs: 5, encrypt: true });
  expect(result.config.admission).toMatchObject({ maxUpstream: 200, scope: 'fleet' });
});

describe('a mistaken fleet', () => {
  test('without a secret is refused, since nobody else would find its flights', () => {
    expect(mistakes('redis: {url: redis://h}')).toEqual([
      'c.yaml:1: redis: needs key.secret or key.secret_file, the same for all processors that share it',
    ]);
    expect(mistakes(`${secret}redis: {url: redis://h}`)).toEqual([]);
  });

  test('that limits what it does not share is refused', () => {
    expect(mistakes('admission: {scope: fleet}')).toEqual([
      'c.yaml:1: admission.scope: fleet needs redis, expected process without it',
    ]);
  });

  test.each([
    ['prefix: "a{b}"', 'redis.prefix: "a{b}" is not allowed, expected up to 64 of A-Z a-z 0-9 : . _ -'],
    [
      'lease: 99ms',
      'redis.lease: "99ms" is not allowed, expected a duration such as 500ms, 2s, 10m or 1h, from 100ms to 1m',
    ],
    [
      'budget: 2s',
      'redis.budget: "2s" is not allowed, expected a duration such as 500ms, 2s, 10m or 1h, from 1ms to 1s',
    ],
    ['encrypt: 1', 'redis.encrypt: 1 is not allowed, expected true or false'],
    ['leese: 1s', 'redis.leese: unknown key, the nearest known key is redis.lease'],
  ])('%s is refused', (text, expected) => {
    expect(mistakes(`${secret}redis: {url: redis://h, ${text}}`)).toEqual([`c.yaml:2: ${expected}`]);
  });
});

test('a reload keeps the table and the scope, and says so', () => {
  const running = read(`${secret}redis: {url: redis://h}\nadmission: {scope: fleet, max_upstream: 1}`);
  const next = read(`${secret}redis: {url: redis://other}\nadmission: {max_upstream: 2}`);
  const { config, kept } = reconfigured(running, next);
  expect(kept).toEqual(['redis', 'admission.scope']);
  expect(config.redis).toEqual(running.redis);
  expect(config.admission).toMatchObject({ scope: 'fleet', maxUpstream: 2 });
  expect(reconfigured(running, running).kept).toEqual([]);
});
