/** What everything is called in Redis: names that tell nothing, and of one flight all with one hash tag. */

import { digest } from '../../coalesce/key/digest.ts';
import type { Key } from '../../coalesce/key/key.ts';

/** The names of a key: the same for all processors under one secret. */
export interface KeyNames {
  /** 64 lower-case hex digits: an HMAC of the key. */
  readonly name: string;
  /** Holds the token of the flight that takes joiners. */
  readonly pointer: string;
  readonly flight: (token: string) => FlightNames;
}

/** The names of one of the key's flights. */
export interface FlightNames {
  /** Is there as long as the flight's leader may write. */
  readonly writer: string;
  readonly stream: string;
  /** Is there as long as somebody reads. */
  readonly interest: string;
  readonly channel: string;
}

/** Of what the fleet's slots are kept in. */
export interface SlotNames {
  readonly slots: string;
  readonly channel: string;
}

/** Of what lies under a key's names. Processors of two formats do not meet: each shares with its own kind. */
export const STREAM_FORMAT = 'v2';

export function keyNames(secret: Uint8Array, prefix: string, key: Key): KeyNames {
  const name = digest(secret, { label: 'redis-name', parts: [key] });
  const base = `${prefix}${STREAM_FORMAT}:{${name}}`;
  return {
    name,
    pointer: `${base}:lease`,
    flight: (token) => ({
      writer: `${base}:w:${token}`,
      stream: `${base}:s:${token}`,
      interest: `${base}:i:${token}`,
      channel: `${base}:c:${token}`,
    }),
  };
}

/** The same for all versions: the limit is on what they call together. */
export function slotNames(prefix: string): SlotNames {
  return { slots: `${prefix}v1:{slots}`, channel: `${prefix}v1:{slots}:c` };
}

/** A flight's token, from 128 random bits. */
export function isToken(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}
