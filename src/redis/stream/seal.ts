/**
 * Entries of a flight's stream as they lie in Redis: encrypted and authenticated, each bound to its flight and its place
 * in it. Owns the cryptography; that places follow each other without a gap is the reader's to see to.
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

import { STREAM_FORMAT } from './names.ts';

export const entryKinds = ['head', 'bytes', 'alive', 'end', 'failure'] as const;
export type EntryKind = (typeof entryKinds)[number];

export interface SealOptions {
  readonly secret: Uint8Array;
  /** Of the key, as `names.ts` makes it. */
  readonly name: string;
  readonly token: string;
  /** False: the content can be read, but not changed. */
  readonly encrypt: boolean;
}

export interface Seal {
  /** `seq` is used once: under one token no two contents ever have the same. */
  readonly close: (seq: number, kind: EntryKind, content: Uint8Array) => Buffer;
  /** Null for whatever was not closed at this place of this flight under this secret. */
  readonly open: (seq: number, payload: Buffer) => Opened | null;
}

export interface Opened {
  readonly kind: EntryKind;
  /** Nobody else's: the receiver may keep it. */
  readonly content: Buffer;
}

const TAG_BYTES = 16;
const MAC_BYTES = 32;

export function createSeal({ secret, name, token, encrypt }: SealOptions): Seal {
  const form = encrypt ? 'sealed' : 'readable';
  const key = Buffer.from(
    hkdfSync('sha256', secret, token, `envoy-coalescer redis ${STREAM_FORMAT} ${form} ${name}`, 32),
  );
  const place: Place = (seq, kind) => {
    const header = Buffer.alloc(9);
    header.writeBigUInt64BE(BigInt(seq));
    header.writeUInt8(kind, 8);
    // Name and token have fixed lengths.
    return Buffer.concat([Buffer.from(`${name}${token}`, 'latin1'), header]);
  };
  return encrypt ? sealedWith(key, place) : readableWith(key, place);
}

type Place = (seq: number, kind: number) => Buffer;

/** Kind, ciphertext, tag. */
function sealedWith(key: Buffer, place: Place): Seal {
  return {
    close: (seq, kind, content) => {
      const code = entryKinds.indexOf(kind);
      const cipher = createCipheriv('aes-256-gcm', key, nonceOf(seq)).setAAD(place(seq, code));
      return Buffer.concat([Buffer.from([code]), cipher.update(content), cipher.final(), cipher.getAuthTag()]);
    },
    open: (seq, payload) => {
      const kind = kindOf(payload, TAG_BYTES);
      if (kind === null) return null;
      const end = payload.length - TAG_BYTES;
      const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(seq), { authTagLength: TAG_BYTES });
      decipher.setAAD(place(seq, entryKinds.indexOf(kind))).setAuthTag(payload.subarray(end));
      const content = decipher.update(payload.subarray(1, end));
      return isGenuine(decipher) ? { kind, content } : null;
    },
  };
}

/** Kind, content, HMAC. */
function readableWith(key: Buffer, place: Place): Seal {
  const macOf = (seq: number, kind: number, content: Uint8Array): Buffer => {
    return createHmac('sha256', key).update(place(seq, kind)).update(content).digest();
  };
  return {
    close: (seq, kind, content) => {
      const code = entryKinds.indexOf(kind);
      return Buffer.concat([Buffer.from([code]), content, macOf(seq, code, content)]);
    },
    open: (seq, payload) => {
      const kind = kindOf(payload, MAC_BYTES);
      if (kind === null) return null;
      const end = payload.length - MAC_BYTES;
      const content = Buffer.from(payload.subarray(1, end));
      const isOurs = timingSafeEqual(macOf(seq, entryKinds.indexOf(kind), content), payload.subarray(end));
      return isOurs ? { kind, content } : null;
    },
  };
}

/** A key serves one token, and a place of it is written once: so the place is nonce enough. */
function nonceOf(seq: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(seq), 4);
  return nonce;
}

function kindOf(payload: Buffer, proofBytes: number): EntryKind | null {
  return payload.length < 1 + proofBytes ? null : (entryKinds[payload[0] ?? entryKinds.length] ?? null);
}

/** `final` throws where the tag does not fit: then nothing of the content counts. */
function isGenuine(decipher: ReturnType<typeof createDecipheriv>): boolean {
  try {
    decipher.final();
    return true;
  } catch {
    return false;
  }
}
