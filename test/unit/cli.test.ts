import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { repositoryRoot } from '../../harness/root.ts';
import { check } from '../../src/cli/check.ts';
import { parseCommandLine, usage } from '../../src/cli/command-line.ts';
import { renderEffective } from '../../src/config/effective.ts';
import { defaultConfig } from '../../src/config/read.ts';

const golden = join(repositoryRoot, 'test', 'data', 'cli');

describe('the command line', () => {
  it.each([
    [[], { kind: 'serve', config: null }],
    [['serve'], { kind: 'serve', config: null }],
    [['--config', 'a.yaml'], { kind: 'serve', config: 'a.yaml' }],
    [['serve', '--config=a=b.yaml'], { kind: 'serve', config: 'a=b.yaml' }],
    [['check', '--config', 'a.yaml'], { kind: 'check', config: 'a.yaml' }],
    [['check'], { kind: 'check', config: null }],
    [['check', '--schema'], { kind: 'schema' }],
    [['explain'], { kind: 'explain', config: null, policy: null, json: false, requests: [] }],
    [
      ['explain', 'a.http', '--json', '--policy', 'careful', '--config=c.yaml', '-'],
      { kind: 'explain', config: 'c.yaml', policy: 'careful', json: true, requests: ['a.http', '-'] },
    ],
    [['--help'], { kind: 'help' }],
    [['check', '-h'], { kind: 'help' }],
    [['help'], { kind: 'help' }],
    [['--version'], { kind: 'version' }],
  ])('%j is understood', (argv, expected) => {
    expect(parseCommandLine(argv)).toEqual(expected);
  });

  it.each([
    [['fly'], 'there is no command "fly", only serve, check, explain, doctor'],
    [['explain', '--jsn'], 'explain takes no "--jsn"'],
    [['explain', '--policy'], '--policy needs a NAME'],
    [['explain', '--config', 'a', '--config=b'], '--config is given twice'],
    [['serve', 'a.yaml'], 'serve takes no "a.yaml"'],
    [['check', '--confg', 'a'], 'check takes no "--confg"'],
    [['check', '--schema', '--config', 'a'], '--schema stands alone'],
    [['serve', '--schema'], 'serve takes no "--schema"'],
    [['--config'], '--config needs a FILE'],
    [['--config='], '--config needs a FILE'],
    [['--config', 'a', '--config', 'b'], '--config is given twice'],
  ])('%j is wrong', (argv, expected) => {
    const result = parseCommandLine(argv);
    expect(result.kind === 'wrong' ? result.message : '').toContain(expected);
  });

  it('is explained by a text that changes only on purpose (-u)', async () => {
    await expect(usage).toMatchFileSnapshot(join(golden, 'help.txt'));
  });

  it.each([['serve', '--help'], ['check', '-h'], ['explain', '--help'], ['doctor', '--help'], ['help']])(
    '%s %s asks for that text',
    (...argv) => {
      expect(parseCommandLine(argv)).toEqual({ kind: 'help' });
    },
  );

  it('is explained by the usage text', () => {
    for (const word of ['serve', 'check', 'explain', '--policy', '--json', '--config', '--help', '--version'])
      expect(usage).toContain(word);
  });
});

describe('check', () => {
  it('prints defaults that change only on purpose (-u)', async () => {
    await expect(check(null, readFileSync).stdout).toMatchFileSnapshot(join(golden, 'check.yaml'));
  });

  it('prints mistakes in words that change only on purpose (-u)', async () => {
    const mistaken = [
      'lisen: 127.0.0.1:1',
      'mode: on',
      'limits: {max_waiters: 0, max_replay_bytes: 1GiB}',
      'tenant: {from: [{header: a, query: b}]}',
      'key: {secret: [1], ignore_headers: [authorization]}',
      'tls: {cert: none.pem, key: none.key}',
      'prices: {m: {prompt: -1, completion: 0}}',
      'policies: {a: {listen: x}}',
    ];
    const content = Buffer.from(mistaken.join('\n'));
    const { stderr, exitCode } = check('c.yaml', () => content);
    expect(exitCode).toBe(1);
    await expect(stderr).toMatchFileSnapshot(join(golden, 'mistakes.txt'));
  });

  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'check-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function file(name: string, text: string): string {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  }

  it('prints the effective configuration without its secret', () => {
    const secretFile = file('secret', 'x'.repeat(40));
    const result = check(file('c.yaml', `mode: shadow\nkey: {secret_file: ${secretFile}}\n`), readFileSync);
    expect(result).toMatchObject({ stderr: '', exitCode: 0 });
    expect(result.stdout).toContain('mode: shadow\n');
    expect(result.stdout).toContain('secret: <redacted>\n');
    expect(result.stdout).not.toContain('xxxx');
  });

  it('prints every mistake on a line of its own and exits 1', () => {
    const path = file('c.yaml', 'mode: on\nlisen: a\n');
    expect(check(path, readFileSync)).toEqual({
      stdout: '',
      stderr: `${path}:1: mode: "on" is not allowed, expected one of off, shadow, enforce\n${path}:2: lisen: unknown key, the nearest known key is listen\n`,
      exitCode: 1,
    });
  });

  it('of a file that is not there is a mistake', () => {
    const path = join(folder, 'none.yaml');
    const result = check(path, readFileSync);
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain(`${path}:1: (document): cannot be read: ENOENT`);
  });

  it('without a file prints the defaults', () => {
    expect(check(null, readFileSync)).toEqual({ stdout: renderEffective(defaultConfig()), stderr: '', exitCode: 0 });
  });
});
