/**
 * docs/operations.md: every command in it is run, but for the few that need a cluster or a container engine and those that
 * the CI run or another test has. Every file that it links is there.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { readShipped } from '../support/deployed.ts';

const execute = promisify(execFile);
const text = readShipped('docs/operations.md');
const commands = [...text.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
  block.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : [])),
);
const needsMore = / {5}# needs (?:a cluster|an engine)$/;
const runElsewhere = / {5}# (?:a step of \.ci\/run|run by (test\/\S+))$/;
const runnable = commands.filter((command) => !needsMore.test(command) && !runElsewhere.test(command));

test('at most ten commands need a cluster or an engine', () => {
  expect(commands.filter((command) => needsMore.test(command)).length).toBeLessThanOrEqual(10);
  expect(runnable.length).toBeGreaterThan(5);
});

test('a command that another test is said to run is in it', () => {
  const elsewhere = commands.flatMap((command) => runElsewhere.exec(command)?.[1] ?? []);
  expect(elsewhere.length).toBeGreaterThan(0);
  for (const path of elsewhere) expect(readShipped(path)).toContain('commandsOf(');
});

describe('with a stack where the text has one', () => {
  let stack: Stack | undefined;
  beforeAll(async () => {
    stack = await startStack({ leg: 'detached' });
  });
  afterAll(() => stack?.close());

  test.each(runnable)('%s', async (command) => {
    const here = command
      .replace('http://127.0.0.1:9003', stack?.processor.adminUrl ?? '')
      .replace('http://127.0.0.1:9901', stack?.envoy.adminUrl ?? '');
    const { stdout, stderr } = await execute('bash', ['-c', here], { cwd: repositoryRoot, maxBuffer: 2 ** 24 });
    expect(stdout + stderr).not.toBe('');
  });
});

test('every link leads to a file, and every heading that is linked is there', () => {
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#([\w-]+))?\)/g)];
  expect(links.length).toBeGreaterThan(10);
  for (const [, path = '', heading] of links) {
    expect(existsSync(join(repositoryRoot, 'docs', path)), path).toBe(true);
    if (heading !== undefined) expect(headingsOf(readShipped(join('docs', path)))).toContain(heading);
  }
});

/** As links name them. */
function headingsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}
