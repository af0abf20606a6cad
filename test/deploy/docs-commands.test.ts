/**
 * Every command in the documents works: it is run, on a real stack where it asks one. But for those of a closed list: the few
 * that need a cluster or a container engine and say so, and those that start a whole suite, of which script and options are
 * looked for. A command of any other kind fails here, so that nobody adds one that nobody runs.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { parseCommandLine, usage } from '../../src/cli/command-line.ts';
import { findingIds } from '../../src/doctor/catalogue.ts';
import { kustomize } from '../support/deployed.ts';
import { type Command, documents, fencedCommands, hiddenCommands, inlineCommands } from '../support/documents.ts';

const execute = promisify(execFile);
const all = documents();
const fenced = all.flatMap(fencedCommands);
const inline = all.flatMap(inlineCommands);

const needsMore = ({ comment }: Command): boolean => /^needs (?:a cluster|an engine)$/.test(comment);
const isSuite = ({ text }: Command): boolean =>
  /^(?:[A-Z_]+=\S+ )*(?:npm (?:ci|test|run (?!--silent envoy))|npx vitest run |\.ci\/|node harness\/prometheus\.mjs)/.test(
    text,
  );
/** A test of its own runs it, where the state that it asks for is. */
const testOf = ({ comment }: Command): string | undefined => /^run by (test\/\S+)$/.exec(comment)?.[1];
const runnable = fenced.filter((command) => !needsMore(command) && !isSuite(command) && testOf(command) === undefined);

test('the documents are there, and their commands are where they are looked for', () => {
  expect(all.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['README.md', 'docs/operations.md', 'CONTRIBUTING.md']),
  );
  expect(all.flatMap(hiddenCommands)).toEqual([]);
  expect(runnable.length).toBeGreaterThan(8);
});

test('at most ten commands need a cluster or an engine, and each says so', () => {
  const marked = fenced.filter(needsMore);
  expect(marked.length).toBeLessThanOrEqual(10);
  for (const { text, place } of marked)
    expect(text, place).toMatch(/^(?:kubectl|docker|curl http:\/\/localhost:10000\/)/);
});

test('a command that another test is said to run is taken from the document there', () => {
  const elsewhere = fenced.flatMap((command) => testOf(command) ?? []);
  expect(elsewhere.length).toBeGreaterThan(0);
  for (const path of elsewhere) expect(readFileSync(join(repositoryRoot, path), 'utf8')).toContain('fencedCommands');
});

describe('run, on a stack where the text has one', () => {
  let stack: Stack | undefined;
  beforeAll(async () => {
    stack = await startStack({ leg: 'detached', envoyArgs: ['--drain-time-s', '1800'] });
  });
  afterAll(() => stack?.close());

  test.each(runnable.map((command) => [command.place, command.text, command] as const))(
    '%s: %s',
    async (_place, _text, { text, prints }) => {
      const here = withAddresses(withFiles(text), stack);
      const options = { cwd: repositoryRoot, maxBuffer: 2 ** 24, timeout: 60_000 };
      const { stdout, stderr } = await execute('bash', ['-euo', 'pipefail', '-c', here], options);
      expect(stdout + stderr).not.toBe('');
      for (const line of prints) expect(stdout).toMatch(patternOf(line));
    },
    90_000,
  );

  test('every metric that the documents name is exported', async () => {
    const pages = [`${stack?.processor.adminUrl ?? ''}/metrics`, `${stack?.envoy.adminUrl ?? ''}/stats/prometheus`];
    const texts = await Promise.all(pages.map(async (page) => (await fetch(page)).text()));
    const exported = new Set(texts.flatMap((text) => [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name)));
    const named = all.flatMap(({ text }) => text.match(/\b(?:coalesce|envoy)_[a-z_]*[a-z]\b/g) ?? []);
    const metrics = [...new Set(named)].filter((name) => !isNoMetric.has(name));
    expect(metrics.length).toBeGreaterThan(20);
    expect(metrics.filter((name) => !exported.has(name))).toEqual([]);
  });
});

describe('a whole suite: its script is there, and knows its options', () => {
  const suites = [...fenced, ...inline.flatMap(steps)].filter(isSuite);

  test.each(suites.map(({ place, text }) => [place, text] as const))('%s: %s', (_place, text) => {
    const [path, options] = scriptOf(text);
    expect(existsSync(join(repositoryRoot, path)), path).toBe(true);
    if (path.startsWith('.ci/')) expect(() => accessSync(join(repositoryRoot, path), constants.X_OK)).not.toThrow();
    const source = options.length === 0 ? '' : sourceOf(path);
    for (const option of options) expect(source, option).toMatch(new RegExp(`['"]?(?:--)?${option.slice(2)}['":]`));
  });
});

describe('in a sentence: our own commands are as the usage has them, and others are in the lists above', () => {
  const others = inline.flatMap(steps).filter((command) => !isSuite(command));

  test.each(others.map(({ place, text }) => [place, text] as const))('%s: %s', (_place, text) => {
    const own = /^(?:(?:npx )?envoy-coalescer|node dist\/main\.js)\b(.*)$/.exec(text);
    expect(own, `${text}: neither run nor on a list; put it into a fence of the kind console`).not.toBeNull();
    const words = (own?.[1] ?? '').split(' ').filter((word) => word !== '');
    const [command = 'serve'] = words;
    expect(usage).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
    for (const option of text.match(/--[a-z]+/g) ?? []) expect(usage).toContain(option);
    if (!/[[…|]/.test(text)) expect(parseCommandLine(words).kind).not.toBe('wrong');
  });
});

describe('what is in the documents by mistake is found', () => {
  test.each([
    ['$ rm -r /', 'a command outside of a fence'],
    ['```bash\nrm -r /\n```', 'a fence of the kind bash'],
  ])('%j', (text, mistake) => {
    expect(hiddenCommands({ path: 'x.md', text })).toEqual([expect.stringContaining(mistake)]);
  });

  test('and what a command prints is compared', () => {
    const [command] = fencedCommands({ path: 'x.md', text: '```console\n$ echo one     # why\none\nt…o\n```' });
    expect(command).toEqual({ place: 'x.md:2', text: 'echo one', comment: 'why', prints: ['one', 't…o'] });
    expect('two').toMatch(patternOf('t…o'));
    expect('twos').not.toMatch(patternOf('t…o'));
  });
});

/** Not on the pages of a processor without one. */
const onlyWithRedis = 'coalesce_redis_up';

/** That, a field of Envoy's configuration, and what doctor finds. */
const isNoMetric: ReadonlySet<string> = new Set(['envoy_grpc', onlyWithRedis, ...findingIds]);

/** `a && b`: each of them. */
function steps(command: Command): Command[] {
  return command.text.split(' && ').map((text) => ({ ...command, text }));
}

/** The names that the documents give to a reader's own files: ones of ours stand in for them. */
const files: ReadonlyArray<readonly [name: RegExp, path: string]> = [
  [/(?<= )coalescer\.yaml/g, 'test/data/explain/config.yaml'],
  [/(?<= )(?:one|two)\.http/g, 'test/data/explain/requests/sdk.http'],
  [/(?<= )envoy\.yaml/g, 'envoy/envoy.yaml'],
];

function withFiles(text: string): string {
  return files.reduce((replaced, [name, path]) => replaced.replaceAll(name, path), text);
}

function withAddresses(text: string, stack: Stack | undefined): string {
  return text
    .replaceAll('http://127.0.0.1:9003', stack?.processor.adminUrl ?? '')
    .replaceAll('http://127.0.0.1:9901', stack?.envoy.adminUrl ?? '')
    .replaceAll('http://127.0.0.1:10000', stack?.ingress.url ?? '')
    .replace(/^envoy-coalescer\b/, 'node dist/main.js')
    .replace(/^kubectl kustomize\b/, kustomize().join(' '));
}

/** The file that a suite's command starts, or the tests that it names, and the options that it is given. */
function scriptOf(text: string): readonly [path: string, options: readonly string[]] {
  const options = text.split(' -- ')[1]?.match(/--[a-z-]+/g) ?? [];
  const [program = '', word = '', name = ''] = text.split(' ').filter((part) => !part.includes('='));
  if (program === 'npx') return [text.split(' ').findLast((part) => part.includes('/')) ?? text, []];
  if (program === 'node') return [word, options];
  if (program !== 'npm') return [program, options];
  if (word === 'ci') return ['package-lock.json', []];
  return [fileOfScript(word === 'run' ? name : word), options];
}

/** What `package.json` lets run, as its source. */
function fileOfScript(name: string): string {
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const last = scripts[name]?.split(' && ').at(-1) ?? `no script ${name}`;
  const [, built] = /\.build\/(\S+)\.js/.exec(last) ?? [];
  if (built !== undefined) return `${built}.ts`;
  return /node (\S+)/.exec(last)?.[1] ?? (scripts[name] === undefined ? last : 'package.json');
}

/** The text of a program: its file, and the folder that is its own. */
function sourceOf(path: string): string {
  const folder = join(repositoryRoot, path.endsWith('/main.ts') ? dirname(path) : path.replace(/\.ts$/, ''));
  const below = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  const files = [join(repositoryRoot, path), ...below.map((name) => join(folder, name))];
  const sources = files.filter((name) => name.endsWith('.ts'));
  return sources.map((name) => readFileSync(name, 'utf8')).join('\n');
}

/** A line of output; `…` stands for anything. */
function patternOf(line: string): RegExp {
  return new RegExp(`^${line.split('…').map(escape).join('.*')}$`, 'm');
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
