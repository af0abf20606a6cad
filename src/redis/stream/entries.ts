/** What is to be written of one answer, in the order of its entries, before they are sealed. */

import type { EntryKind } from './seal.ts';

export interface Entry {
  readonly kind: EntryKind;
  readonly content: Uint8Array;
}

const LARGEST_BYTES = 64 * 1024;

/** Neighbouring bytes become one entry, up to its limit; larger ones become several. */
export function joinBytes(entries: readonly Entry[]): Entry[] {
  const joined: Entry[] = [];
  let run: Uint8Array[] = [];
  const flush = (): void => {
    const whole = Buffer.concat(run);
    for (let at = 0; at < whole.length; at += LARGEST_BYTES) {
      joined.push({ kind: 'bytes', content: whole.subarray(at, at + LARGEST_BYTES) });
    }
    run = [];
  };
  for (const entry of entries) {
    if (entry.kind === 'bytes') {
      run.push(entry.content);
      continue;
    }
    flush();
    joined.push(entry);
  }
  flush();
  return joined;
}
