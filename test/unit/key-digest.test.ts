import { createHmac, randomBytes } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { digest } from '../../src/coalesce/key/digest.ts';

/** What the digest is by its definition, made with Node's own HMAC. */
function byHmac(secret: Uint8Array, prefix: string, bytes: Uint8Array): string {
  return createHmac('sha256', secret).update(prefix, 'utf16le').update(bytes).digest('hex');
}

describe('the digest', () => {
  test.each([0, 1, 63, 64, 65, 1_000, 65_000, 65_536, 70_000, 1_000_000])('of %i bytes is their HMAC', (length) => {
    const [secret, bytes] = [randomBytes(32), randomBytes(length)];
    const prefix = `l3:s5:labell1:s4:textn`.replace('n', `s${String(length).length}:${length}`);
    expect(digest(secret, { label: 'label', parts: ['text'], bytes })).toBe(byHmac(secret, prefix, bytes));
  });

  test.each([1, 31, 32, 63, 64, 65, 200])('under a secret of %i bytes is the HMAC', (length) => {
    const secret = randomBytes(length);
    expect(digest(secret, { label: 'a', parts: [null] })).toBe(byHmac(secret, 'l3:s1:al1:nn', new Uint8Array()));
  });

  test('is the HMAC for any text, a lone surrogate too, and any bytes', () => {
    const secret = randomBytes(48);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 300 }), (text, bytes) => {
        const part = `${text}\ud800`;
        const prefix = `l3:s1:xl1:s${part.length}:${part}s${String(bytes.length).length}:${bytes.length}`;
        expect(digest(secret, { label: 'x', parts: [part], bytes })).toBe(byHmac(secret, prefix, bytes));
      }),
    );
  });

  test('leaves its input as it was', () => {
    const [secret, bytes] = [Buffer.alloc(32, 1), Buffer.alloc(100, 2)];
    digest(secret, { label: 'x', parts: [], bytes });
    expect([secret.equals(Buffer.alloc(32, 1)), bytes.equals(Buffer.alloc(100, 2))]).toEqual([true, true]);
  });
});
