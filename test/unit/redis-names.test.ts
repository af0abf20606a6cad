/** Names in Redis: the same for all processors that may share, other ones for all that may not. */
import { expect, test } from 'vitest';
import { makeKey, type Key, type KeyParts } from '../../src/coalesce/key/key.ts';
import { readConfig } from '../../src/config/read.ts';
import { keyNames } from '../../src/redis/stream/names.ts';

const secret = Buffer.alloc(32, 1);
const token = 'f'.repeat(32);

function epochOf(text: string): string {
  const read = readConfig(text, { file: 'c.yaml', readFile: () => '' });
  if (read.kind === 'mistakes') throw new Error('it is none');
  return read.config.policy.epoch;
}

function keyOf(change: Partial<KeyParts>): Key {
  const none = { credentials: [], query: [], headers: [], include: [], route: null, cluster: null };
  const request = { method: 'POST', authority: 'a', path: '/p', tenant: 't', profile: 'x', body: Buffer.from('{}') };
  const parts = { format: '2', fleet: null, ...request, ...none, policy: epochOf('') };
  return makeKey(secret, { ...parts, ...change });
}

test('processors with the same key and secret use the same names, in one slot of a Cluster', () => {
  const names = keyNames(secret, 'p:', keyOf({}));
  expect(keyNames(Buffer.from(secret), 'p:', keyOf({}))).toMatchObject({ name: names.name, pointer: names.pointer });
  const all = [names.pointer, ...Object.values(names.flight(token))];
  for (const name of all) expect(/^p:v2:\{([0-9a-f]{64})\}:/.exec(name)?.[1]).toBe(names.name);
  expect(new Set(all).size).toBe(5);
});

test('two versions of the key, two policies, two tenants, two secrets never meet', () => {
  const others = [
    keyNames(secret, 'p:', keyOf({ format: '3' })),
    keyNames(secret, 'p:', keyOf({ policy: epochOf('sampling: seeded') })),
    keyNames(secret, 'p:', keyOf({ tenant: 'u' })),
    keyNames(Buffer.alloc(32, 2), 'p:', keyOf({})),
  ].map(({ name }) => name);
  expect(new Set([keyNames(secret, 'p:', keyOf({})).name, ...others]).size).toBe(others.length + 1);
});

test('a name does not have the key in it', () => {
  const key = keyOf({});
  expect(keyNames(secret, 'p:', key).pointer).not.toContain(key.slice(0, 8));
});
