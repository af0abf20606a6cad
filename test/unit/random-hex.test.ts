import { expect, test } from 'vitest';

import { randomHexSource } from '../../src/server/random-hex.ts';

test('a name has two hex digits for each byte, also across the edge of the pool', () => {
  const randomHex = randomHexSource();
  for (const bytes of [8, 32, 3, 4096, 1, 4095, 4096])
    expect(randomHex(bytes)).toMatch(new RegExp(`^[0-9a-f]{${bytes * 2}}$`));
});

test('no two of 20,000 names are the same, and none is zero', () => {
  const randomHex = randomHexSource();
  const names = Array.from({ length: 20_000 }, (_, index) => randomHex(index % 3 === 0 ? 32 : 8));
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => /^0+$/.test(name))).toEqual([]);
});

test('two sources differ', () => {
  expect(randomHexSource()(32)).not.toBe(randomHexSource()(32));
});
