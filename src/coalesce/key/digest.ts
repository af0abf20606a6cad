/**
 * The one way in which parts become a digest: keyed, with every part's length before it, so that no two lists of parts
 * are ever the same bytes.
 */

import { createHmac } from 'node:crypto';

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
  const hmac = createHmac('sha256', secret);
  const prefix = encode([label, parts, bytes === undefined ? null : String(bytes.length)]);
  // UTF-16 keeps every JavaScript string apart; UTF-8 would merge lone surrogates.
  hmac.update(prefix, 'utf16le');
  if (bytes !== undefined) hmac.update(bytes);
  return hmac.digest('hex');
}

function encode(part: Part): string {
  if (part === null) return 'n';
  if (typeof part === 'string') return `s${part.length}:${part}`;
  return `l${part.length}:${part.map(encode).join('')}`;
}
