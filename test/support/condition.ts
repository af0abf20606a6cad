/** Waiting for something to become so: tests wait on conditions, never for a time. */
import { setTimeout as delay } from 'node:timers/promises';

/** Looks every 10 ms until `look` says yes; throws after `timeoutMs`, with what was awaited. */
export async function until(
  what: string,
  look: () => boolean | Promise<boolean>,
  timeoutMs: number = 8_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`${what}: not after ${timeoutMs} ms`);
    await delay(10);
  }
}
