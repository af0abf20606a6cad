/** A service that cannot have one of its addresses gives back the others. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../harness/stack/processor-process.ts';
import { readConfigFile } from '../../src/config/read.ts';
import { createLog } from '../../src/observe/log.ts';
import { ListenError } from '../../src/server/grpc/grpc-server.ts';
import { startService } from '../../src/server/serve.ts';

const opened: Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

async function occupy(port: number): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  opened.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test.for(['admin', 'probes'])('%s is taken: the error names it, and the other ports are free again', async (taken) => {
  const ports = { listen: await freePort(), admin: await freePort(), probes: await freePort() };
  const addresses = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, `127.0.0.1:${port}`]));
  addresses[taken] = `127.0.0.1:${await occupy(0)}`;
  const read = readConfigFile('config.json', () => Buffer.from(JSON.stringify(addresses)));
  if (read.kind === 'mistakes') throw new Error('the configuration is right');
  const error: unknown = await startService({ config: read.config, log: createLog('silent'), pid: 0 }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ListenError);
  expect(error).toHaveProperty('address', addresses[taken]);
  for (const [name, port] of Object.entries(ports)) if (name !== taken) await occupy(port);
});
