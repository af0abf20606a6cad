/** Random names: the system's generator is asked for many at a time, since one call costs as much as a kilobyte. */
import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 4096;

/** Hexadecimal text of that many fresh random bytes, `POOL_BYTES` at most. No byte is given out twice. */
export function randomHexSource(): (bytes: number) => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return (bytes) => {
    if (used + bytes > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const text = pool.toString('hex', used, used + bytes);
    // What a ticket was made of stays nowhere but in the ticket.
    pool.fill(0, used, used + bytes);
    used += bytes;
    return text;
  };
}
