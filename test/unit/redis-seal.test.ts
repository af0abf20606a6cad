/** What is closed at one place of one flight opens there and nowhere else. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSeal, entryKinds, type Seal, type SealOptions } from '../../src/redis/stream/seal.ts';

const own: SealOptions = {
  secret: Buffer.alloc(32, 1),
  name: 'a'.repeat(64),
  token: 'b'.repeat(32),
  encrypt: true,
};
const text = Buffer.from('what the model said');

describe.each([{ encrypt: true }, { encrypt: false }])('an entry, encrypted: $encrypt', ({ encrypt }) => {
  const make = (other: Partial<SealOptions> = {}): Seal => createSeal({ ...own, encrypt, ...other });
  const seal = make();

  test.each(entryKinds)('of kind %s opens as it was closed', (kind) => {
    expect(make().open(3, seal.close(3, kind, text))).toEqual({ kind, content: text });
    expect(make().open(4, seal.close(4, kind, new Uint8Array(0)))).toEqual({ kind, content: Buffer.alloc(0) });
  });

  test('does not open at another place, or for another flight, key or secret', () => {
    const payload = seal.close(3, 'bytes', text);
    expect(seal.open(2, payload)).toBeNull();
    expect(make({ token: 'c'.repeat(32) }).open(3, payload)).toBeNull();
    expect(make({ name: 'c'.repeat(64) }).open(3, payload)).toBeNull();
    expect(make({ secret: Buffer.alloc(32, 2) }).open(3, payload)).toBeNull();
    expect(make({ encrypt: !encrypt }).open(3, payload)).toBeNull();
  });

  test('does not open with one bit changed, the kind included', () => {
    const payload = seal.close(3, 'bytes', text);
    for (let bit = 0; bit < payload.length * 8; bit += 1) {
      const changed = Buffer.from(payload);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(seal.open(3, changed)).toBeNull();
    }
  });

  test('does not open cut short or made longer', () => {
    const payload = seal.close(3, 'end', text);
    for (let length = 0; length < payload.length; length += 1)
      expect(seal.open(3, payload.subarray(0, length))).toBeNull();
    expect(seal.open(3, Buffer.concat([payload, Buffer.from([0])]))).toBeNull();
  });

  test('is never opened out of any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(seal.open(1, Buffer.from(bytes))).toBeNull();
      }),
    );
  });
});

test('what is encrypted does not show', () => {
  const payload = createSeal(own).close(1, 'bytes', text);
  expect(payload.includes(text)).toBe(false);
  expect(createSeal(own).close(2, 'bytes', text).subarray(1)).not.toEqual(payload.subarray(1));
});
