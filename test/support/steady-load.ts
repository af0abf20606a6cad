/** Callers that go on calling while something else happens, some of them with what another asks too. None may fail. */
import { expect } from 'vitest';
import { begin } from '../../harness/http-client.ts';
import type { SharedStack } from './shared-stack.ts';

/** Until the function that it returns is called, which gives how many calls each caller made. */
export function keepCalling(shared: SharedStack, callers: number): () => Promise<number[]> {
  let running = true;
  const counts = Array.from({ length: callers }, async (_, caller) => {
    let count = 0;
    while (running) {
      const exchange = await begin(shared.chat(`load ${(count += 1) % 3} ${caller % 2}`)).done;
      expect([exchange.status, exchange.ending]).toEqual([200, 'complete']);
    }
    return count;
  });
  return () => {
    running = false;
    return Promise.all(counts);
  };
}
