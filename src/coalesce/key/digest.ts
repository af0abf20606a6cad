/**
 * The one way in which parts become a digest: keyed, with every part's length before it, so that no two lists of parts
 * are ever the same bytes.
 */

import { createHmac, hash } from 'node:crypto';

/** Null, a text and a list are told apart, whatever they hold. */
export type Part = string | null | readonly Part[];

export interface DigestInput {
  /** What the digest is for; digests for different things never meet. */
  readonly label: string;
  readonly parts: readonly Part[];
  /** The last part, where it is large. */
  readonly bytes?: Uint8Array;
}

/** 64 lower-case hex digits of HMAC-SHA-256. */
export function digest(secret: Uint8Array, { label, parts, bytes }: DigestInput): string {
  const prefix = encode([label, parts, bytes === undefined ? null : String(bytes.length)]);
  return hmac(secret, prefix, bytes ?? NO_BYTES);
}

function encode(part: Part): string {
  if (part === null) return 'n';
  if (typeof part === 'string') return `s${part.length}:${part}`;
  return `l${part.length}:${part.map(encode).join('')}`;
}

const NO_BYTES = new Uint8Array();

/** SHA-256's block, in bytes. */
const BLOCK = 64;

/** Below this it is cheaper to lay the bytes side by side and hash them in one call than to make a hashing object. */
const ONE_CALL_BYTES = 64 * 1024;

/** Of the prefix in UTF-16, which keeps every JavaScript string apart (UTF-8 would merge lone surrogates), and the bytes. */
function hmac(secret: Uint8Array, prefix: string, bytes: Uint8Array): string {
  const length = 2 * prefix.length + bytes.length;
  if (length > ONE_CALL_BYTES || secret.length > BLOCK) {
    return createHmac('sha256', secret).update(prefix, 'utf16le').update(bytes).digest('hex');
  }
  const inner = Buffer.allocUnsafe(BLOCK + length);
  writePad(inner, secret, 0x36);
  inner.write(prefix, BLOCK, 'utf16le');
  inner.set(bytes, BLOCK + 2 * prefix.length);
  const outer = Buffer.allocUnsafe(BLOCK + 32);
  writePad(outer, secret, 0x5c);
  outer.write(hash('sha256', inner, 'hex'), BLOCK, 'hex');
  const text = hash('sha256', outer, 'hex');
  // The memory comes from a pool that others write to: nothing of the secret stays there.
  inner.fill(0, 0, BLOCK);
  outer.fill(0, 0, BLOCK);
  return text;
}

/** RFC 2104: the key, filled up with zeros to a block, and each of its bytes changed by `by`. */
function writePad(block: Buffer, secret: Uint8Array, by: number): void {
  block.fill(by, 0, BLOCK);
  for (let index = 0; index < secret.length; index += 1) block[index] = (secret[index] ?? 0) ^ by;
}
