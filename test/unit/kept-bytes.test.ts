/** What is kept of bytes that lie in a larger memory. */
import { expect, test } from 'vitest';
import { keptBytes } from '../../src/coalesce/flight/kept-bytes.ts';

test('bytes that are three quarters of their memory are kept as they are, others as a copy', () => {
  const memory = new Uint8Array(100).map((_, index) => index);
  const most = memory.subarray(10, 85);
  expect(keptBytes(most)).toBe(most);
  const part = memory.subarray(10, 84);
  const kept = keptBytes(part);
  expect(kept).not.toBe(part);
  expect([...kept]).toEqual([...part]);
  memory.fill(0);
  expect(kept[0]).toBe(10);
});
