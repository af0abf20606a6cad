import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { repositoryRoot } from '../../harness/root.ts';
import type { CommandResult } from '../../src/cli/check.ts';
import { exitCodes, parseCommandLine, usage } from '../../src/cli/command-line.ts';
import { doctor, type DoctorOptions } from '../../src/cli/doctor.ts';

const shipped = readFileSync(join(repositoryRoot, 'envoy', 'envoy.yaml'), 'utf8');
const golden = join(repositoryRoot, 'test', 'data', 'doctor', 'broken.txt');

const withoutTimeout = shipped.replace('route: { cluster: llm, timeout: 0s }', 'route: { cluster: llm }');
const files: Readonly<Record<string, string>> = {
  'good.yaml': shipped,
  'broken.yaml': withoutTimeout
    .replace('failure_mode_allow: true', 'failure_mode_allow: false')
    .replace('stream_idle_timeout: 3600s', 'stream_idle_timeout: 60s')
    .replace('connection_keepalive: { interval: 5s, timeout: 5s }', '{}'),
  'slow.yaml': shipped.replace('delayed_close_timeout: 0s', 'delayed_close_timeout: 1s'),
  'thousand.yaml': shipped.replaceAll('3600s', '1000s'),
  'other.yaml': 'a: 1\n',
  'syntax.yaml': 'static_resources: [\n',
  'long.yaml': 'deadlines: {wait: 20m}\nlimits: {max_request_bytes: 4MiB}\n',
  'wrong.yaml': 'mode: on\n',
};

function readFile(path: string): string {
  const text = files[path];
  if (text === undefined) throw new Error('ENOENT: no such file');
  return text;
}

const noUrl = (): Promise<string> => Promise.reject(new Error('connect ECONNREFUSED'));

function onFile(path: string, more: Partial<DoctorOptions> = {}): Promise<CommandResult> {
  return doctor({ config: null, json: false, target: { kind: 'file', path }, ...more }, { readFile, readUrl: noUrl });
}

describe('doctor on a file', () => {
  it('finds nothing in the one that we ship, and exits 0', async () => {
    expect(await onFile('good.yaml')).toEqual({ stdout: 'nothing found\n', stderr: '', exitCode: 0 });
    expect(await onFile('good.yaml', { json: true })).toEqual({ stdout: '', stderr: '', exitCode: 0 });
  });

  it('prints each finding with its line, its consequence and what mends it, and exits 1', async () => {
    const result = await onFile('broken.yaml');
    expect(result).toMatchObject({ stderr: '', exitCode: 1 });
    await expect(result.stdout).toMatchFileSnapshot(golden);
  });

  it('names the line that is wrong', async () => {
    const lines = (files['broken.yaml'] ?? '').split('\n');
    const places = [...(await onFile('broken.yaml')).stdout.matchAll(/^ {2}at {3}broken\.yaml:(\d+)/gm)];
    const named = places.map(([, line]) => lines[Number(line) - 1]?.trim());
    expect(named).toEqual([
      'failure_mode_allow: false',
      'route: { cluster: llm }',
      'http2_protocol_options:',
      'stream_idle_timeout: 60s',
    ]);
  });

  it('with --json prints one line for each finding', async () => {
    const { stdout, exitCode } = await onFile('broken.yaml', { json: true });
    const findings = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(exitCode).toBe(1);
    expect(findings.map(({ id }) => id)).toEqual([
      'failing_closed',
      'route_timeout',
      'processor_keepalive',
      'idle_timeout',
    ]);
    for (const finding of findings) {
      expect(Object.keys(finding)).toEqual(['id', 'severity', 'path', 'consequence', 'fix']);
      for (const value of Object.values(finding)) expect(value).toEqual(expect.any(String));
    }
  });

  it('exits 0 where there are warnings only', async () => {
    const result = await onFile('slow.yaml');
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toMatch(/^warning delayed_close\n[^]*0 errors, 1 warning\n$/);
  });

  it('compares with the processor’s own configuration', async () => {
    expect(await onFile('thousand.yaml')).toMatchObject({ stdout: 'nothing found\n' });
    const { stdout } = await onFile('thousand.yaml', { config: 'long.yaml', json: true });
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(ids).toEqual(['max_message_timeout_short', 'request_bytes', 'idle_timeout', 'idle_timeout']);
  });

  it.each([
    ['none.yaml', 'none.yaml:1: cannot be read: ENOENT: no such file\n'],
    ['other.yaml', 'other.yaml:1: not an Envoy configuration: no static_resources in it\n'],
    ['syntax.yaml', expect.stringMatching(/^syntax\.yaml:\d+: not valid YAML/) as string],
  ])('exits 78 for %s', async (path, stderr) => {
    expect(await onFile(path)).toEqual({ stdout: '', stderr, exitCode: exitCodes.wrongConfig });
  });

  it('exits 78 where the processor’s configuration is wrong', async () => {
    const result = await onFile('good.yaml', { config: 'wrong.yaml' });
    expect(result).toMatchObject({ stdout: '', exitCode: 78 });
    expect(result.stderr).toContain('wrong.yaml:1: mode: ');
  });
});

describe('doctor on an admin', () => {
  it('that does not answer exits 78', async () => {
    const target = { kind: 'admin' as const, url: 'http://127.0.0.1:1/' };
    expect(await doctor({ config: null, json: false, target }, { readFile, readUrl: noUrl })).toEqual({
      stdout: '',
      stderr: 'http://127.0.0.1:1/config_dump: cannot be read: connect ECONNREFUSED\n',
      exitCode: 78,
    });
  });
});

describe('the command line of doctor', () => {
  it.each([
    [['--envoy', 'e.yaml'], { config: null, target: { kind: 'file', path: 'e.yaml' }, json: false }],
    [
      ['--json', '--config=c.yaml', '--admin', 'http://127.0.0.1:9901'],
      { config: 'c.yaml', target: { kind: 'admin', url: 'http://127.0.0.1:9901' }, json: true },
    ],
  ])('%j is understood', (words, expected) => {
    expect(parseCommandLine(['doctor', ...words])).toEqual({ kind: 'doctor', ...expected });
  });

  it.each([
    [[], 'needs one of --envoy FILE and --admin URL'],
    [['--config', 'c.yaml'], 'needs one of --envoy FILE and --admin URL'],
    [['--envoy', 'e', '--admin', 'http://a'], 'needs one of --envoy FILE and --admin URL'],
    [['--envoy'], '--envoy needs a FILE'],
    [['--admin='], '--admin needs a URL'],
    [['--admin', '127.0.0.1:9901'], '--admin needs an http URL'],
    [['--envoy', 'a', '--envoy', 'b'], '--envoy is given twice'],
    [['e.yaml'], 'doctor takes no "e.yaml"'],
    [['--policy', 'a'], 'doctor takes no "--policy"'],
  ])('%j is wrong', (words, expected) => {
    const result = parseCommandLine(['doctor', ...words]);
    expect(result.kind === 'wrong' ? result.message : '').toContain(expected);
  });

  it('is explained by the usage text', () => {
    for (const word of ['doctor', '--envoy FILE', '--admin URL', '--json']) expect(usage).toContain(word);
  });
});
