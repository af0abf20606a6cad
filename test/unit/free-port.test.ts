/** Ports for processes that listen a little later. */
import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { freePort } from '../../harness/stack/processor-process.ts';

test('no port is given twice, and none that somebody listens at', async () => {
  const first = await freePort();
  const server = createServer().listen(first, '127.0.0.1');
  await once(server, 'listening');
  const ports = await Promise.all(Array.from({ length: 150 }, () => freePort()));
  server.close();
  expect(new Set([first, ...ports]).size).toBe(151);
  expect(Math.min(...ports)).toBeGreaterThanOrEqual(15_000);
  expect(Math.max(...ports)).toBeLessThan(32_000);
});
