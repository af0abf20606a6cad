/** How the process ends, as an operator's supervisor sees it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';

let folder = '';
let taken: Server;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-exits-'));
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
});
afterAll(async () => {
  taken.close();
  await rm(folder, { recursive: true, force: true });
});

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

async function run(...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [join(repositoryRoot, 'dist', 'main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, stdout, stderr };
}

async function configFile(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

function takenAddress(): string {
  return `127.0.0.1:${(taken.address() as AddressInfo).port}`;
}

describe('a bind error ends the process with 69 and names the address', () => {
  test.for(['listen', 'admin', 'probes'] as const)('%s', async (which) => {
    const addresses = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', probes: '127.0.0.1:0', [which]: takenAddress() };
    const { code, stdout } = await run(
      'serve',
      '--config',
      await configFile(`${which}.json`, JSON.stringify(addresses)),
    );
    expect(code).toBe(69);
    expect(stdout).toContain('"event":"cannot_listen"');
    expect(stdout).toContain(takenAddress());
    // Neither ready before, nor after.
    expect(stdout).not.toContain('"event":"listening"');
  });
});

test('a wrong configuration ends the process with 78 and every mistake on stderr', async () => {
  const path = await configFile('wrong.yaml', 'listen: 127.0.0.1:0\nmod: enforce\norphan_grace: soon\n');
  const { code, stderr } = await run('serve', '--config', path);
  expect(code).toBe(78);
  expect(stderr).toContain(`${path}:2: mod`);
  expect(stderr).toContain(`${path}:3: orphan_grace`);
});

test('a configuration that cannot be read ends the process with 78', async () => {
  const { code, stderr } = await run('serve', '--config', join(folder, 'missing.yaml'));
  expect(code).toBe(78);
  expect(stderr).toContain('missing.yaml');
});

test.for([
  [['fly']],
  [['serve', '--conf', 'x']],
  [['--config']],
  [['check', '--json']],
  [['check', '--schema', '--config', 'x']],
  [['explain', '--policy']],
  [['doctor']],
  [['doctor', '--admin', 'ftp://x']],
] as const)('a wrong call, %j, ends the process with 64 and the usage on stderr', async ([args]) => {
  const { code, stdout, stderr } = await run(...args);
  expect(code).toBe(64);
  expect(stdout).toBe('');
  expect(stderr).toContain('Usage: envoy-coalescer');
});
