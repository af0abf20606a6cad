/** Tracing that is off costs nothing: what it needs is not even loaded. */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';

/** prom-client takes the API's types and nothing more from it. */
const loaded = `
  import { createRequire, Module } from 'node:module';
  const { startService } = await import('./dist/server/serve.js');
  const { defaultConfig } = await import('./dist/config/read.js');
  const { createLog } = await import('./dist/observe/log.js');
  const here = { kind: 'tcp', host: '127.0.0.1', port: 0 };
  const tracing = JSON.parse(process.argv[1]);
  const config = { ...defaultConfig(), listen: [here], admin: here, tracing };
  const service = await startService({ config, log: createLog('silent'), pid: process.pid });
  const names = Object.keys(Module._cache).filter((path) => path.includes('@opentelemetry/sdk-trace/'));
  console.log(names.length);
  await service.drain();
  process.exit(0);
`;

async function modulesOf(tracing: unknown): Promise<number> {
  const args = ['--input-type=module', '--eval', loaded, JSON.stringify(tracing)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: repositoryRoot });
  return Number(stdout);
}

test('the library is loaded where tracing is on, and nowhere else', async () => {
  const endpoint = 'http://127.0.0.1:9/v1/traces';
  const on = { endpoint, serviceName: 'x', sample: 1, headersFile: null, headers: [], maxQueue: 1, timeoutMs: 100 };
  expect(await modulesOf(null)).toBe(0);
  expect(await modulesOf(on)).toBeGreaterThan(0);
});
