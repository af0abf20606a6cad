/**
 * The Dockerfile, without an engine: what it copies is there and not ignored, its last stage needs no shell and no root, and
 * the processor runs from exactly the files of that stage. So does its health check.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';
import { startChild, waitUntil } from '../../harness/stack/child.ts';
import { freePort } from '../../harness/stack/processor-process.ts';
import { readShipped } from '../support/deployed.ts';

type Instruction = { readonly word: string; readonly rest: string };
type Stage = { readonly from: string; readonly name: string; readonly instructions: Instruction[] };

const stages = stagesOf(readShipped('Dockerfile'));
const processor = stages.at(-1);

test('the image that is built by default is the processor, the other one the mock', () => {
  expect(processor?.name).toBe('processor');
  expect(stages.map(({ name }) => name)).toContain('mock-llm');
});

describe.each(stages.filter(({ from }) => from.includes('distroless')))('the image $name', ({ from, instructions }) => {
  test('is Node 24 without a shell, and runs as nobody', () => {
    expect(from).toMatch(/^gcr\.io\/distroless\/nodejs24-debian\d+:nonroot$/);
    expect(instructions.filter(({ word }) => word === 'USER')).toEqual([{ word: 'USER', rest: '65532:65532' }]);
  });

  test('every command is a list, and none runs while it is built', () => {
    expect(instructions.filter(({ word }) => word === 'RUN')).toEqual([]);
    const commands = instructions.filter(({ word }) => ['CMD', 'ENTRYPOINT', 'HEALTHCHECK'].includes(word));
    expect(commands.length).toBeGreaterThan(0);
    for (const { rest } of commands) expect(commandOf(rest)).toEqual(expect.any(Array));
  });
});

test('whatever is copied from the folder of the build is there and not ignored', () => {
  const allowed = readShipped('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const copies = stages.flatMap(({ instructions }) => instructions).filter(isCopyFromFolder);
  const sources = copies.flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1));
  expect(sources.length).toBeGreaterThan(10);
  for (const source of sources) {
    expect(existsSync(join(repositoryRoot, source)), source).toBe(true);
    expect(
      allowed.some((entry) => source === entry || source.startsWith(`${entry}/`)),
      source,
    ).toBe(true);
  }
});

describe('the files of the processor’s image', () => {
  let app = '';
  beforeAll(async () => {
    app = await mkdtemp(join(tmpdir(), 'envoy-coalescer-image-'));
    for (const { word, rest } of processor?.instructions ?? []) if (word === 'COPY') await copyInto(app, rest);
  });
  afterAll(() => rm(app, { recursive: true, force: true }));

  test('are all that it needs, and the health check says yes while it runs and no when it is gone', async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    const config = join(app, 'coalescer.yaml');
    await writeFile(config, `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${adminPort}\n`);
    const child = await startChild({
      name: 'the image’s processor',
      command: process.execPath,
      args: [...argumentsOf('ENTRYPOINT'), 'serve', '--config', config].map((word) =>
        word === 'dist/main.js' ? join(app, word) : word,
      ),
      logBase: join(app, 'log'),
    });
    try {
      await waitUntil(child, {
        what: 'line that says it listens',
        timeoutMs: 20_000,
        look: async () => ((await child.stdout()).includes('"listening"') ? true : undefined),
      });
      expect(await healthcheck(app, adminPort)).toBe(0);
      child.kill('SIGTERM');
      expect(await child.exit).toEqual({ code: 0, signal: null });
      expect(await healthcheck(app, adminPort)).toBe(1);
    } finally {
      await child.end();
    }
  });
});

function healthcheck(app: string, adminPort: number): Promise<number> {
  const [, script = ''] = commandOf(instruction('HEALTHCHECK')) as string[];
  const env = { ...process.env, HEALTHCHECK_URL: `http://127.0.0.1:${adminPort}/healthz` };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [join(app, script)], { env });
    child.once('exit', (code) => resolve(code ?? -1));
  });
}

function instruction(word: string): string {
  return processor?.instructions.find((one) => one.word === word)?.rest ?? '';
}

/** What follows Node in a command. */
function argumentsOf(word: string): string[] {
  return (commandOf(instruction(word)) as string[]).slice(1);
}

/** The list in an instruction. */
function commandOf(rest: string): unknown {
  return JSON.parse(rest.slice(rest.indexOf('[')));
}

function isCopyFromFolder({ word, rest }: Instruction): boolean {
  return word === 'COPY' && !rest.startsWith('--from');
}

/** Carries out a COPY. What the build stage makes is what this tree has, its packages without those of development. */
async function copyInto(app: string, rest: string): Promise<void> {
  const [source = '', target = ''] = rest.replace('--from=build ', '').replace('/app/', '').split(/\s+/);
  if (source === 'node_modules') return linkPackages(app);
  await cp(join(repositoryRoot, source), join(app, target), { recursive: true });
}

async function linkPackages(app: string): Promise<void> {
  const { packages } = JSON.parse(readShipped('package-lock.json')) as { packages: Record<string, { dev?: boolean }> };
  for (const [path, { dev }] of Object.entries(packages)) {
    // A package within another comes with that one.
    if (dev === true || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue;
    if (!existsSync(join(repositoryRoot, path))) continue;
    await mkdir(dirname(join(app, path)), { recursive: true });
    await symlink(join(repositoryRoot, path), join(app, path));
  }
}

function stagesOf(text: string): Stage[] {
  const found: Stage[] = [];
  for (const line of text.replaceAll(/\\\n/g, ' ').split('\n')) {
    const [, word = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    const [, from = '', name = ''] = /^(\S+) AS (\S+)$/.exec(rest) ?? [];
    if (word === 'FROM') found.push({ from, name, instructions: [] });
    else if (word !== '') found.at(-1)?.instructions.push({ word, rest });
  }
  return found;
}
