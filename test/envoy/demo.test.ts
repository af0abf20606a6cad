/**
 * `npm run demo`, as it is compiled: what a newcomer sees first. The figures in its last line are what it counted; how it
 * counts waves and peaks is in demo-figures.test.ts.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, test } from 'vitest';
import { findEnvoy } from '../../harness/envoy-binary.ts';
import { repositoryRoot } from '../../harness/root.ts';

const demo = join(repositoryRoot, '.build', 'demo', 'main.js');

// Else the demo would tell of the download.
beforeAll(() => findEnvoy());

describe.each([
  { leg: 'detached', args: [], callsAfterHangUp: 1 },
  { leg: 'attached', args: ['--leg', 'attached'], callsAfterHangUp: 2 },
])('the demo, $leg', ({ leg, args, callsAfterHangUp }) => {
  test('25 callers with 5 prompts make 5 upstream calls, and the last line says so', async () => {
    const { code, stdout, stderr } = await runDemo(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const wallSeconds: unknown = expect.any(Number);
    expect(lastLine(stdout)).toEqual({
      requests: 25,
      distinct: 5,
      max_upstream: 2,
      upstream_calls: 5,
      peak_upstream: 2,
      coalesced: 20,
      waves: 3,
      distinct_outputs: 5,
      wall_seconds: wallSeconds,
      failed: 0,
      leg,
      hangup: { callers: 5, left: 1, whole: 4, upstream_calls: callsAfterHangUp },
    });
  });
});

test('with --keep the stack answers curl until the demo is interrupted', async () => {
  const run = startDemo(['--keep']);
  const advice = await run.stderrHas(/Ctrl-C ends it all/);
  const [flights] = /http:\/\/[\d.:]+\/flights/.exec(advice) ?? [];
  expect(await (await fetch(String(flights))).json()).toMatchObject({ totals: { flights: 0, waiters: 0 } });
  run.child.kill('SIGINT');
  expect((await run.done).code).toBe(0);
  await expect(fetch(String(flights))).rejects.toThrow();
});

test('a signal in the middle ends the demo with the code of that signal', async () => {
  const run = startDemo([]);
  await run.stdoutHas(/upstream call 1 begins/);
  run.child.kill('SIGTERM');
  expect(await run.done).toMatchObject({ code: 143, stderr: '' });
});

test('a wrong call is refused with the usage', async () => {
  const { code, stdout, stderr } = await runDemo(['--leg', 'sideways']);
  expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  expect(stderr).toContain('--leg is detached or attached, not "sideways"');
  expect(stderr).toContain('Usage: npm run demo');
});

test('an Envoy that cannot be had is said to be so, with what to do', async () => {
  const { code, stdout, stderr } = await runDemo([], { ENVOY_BIN: '/nowhere/envoy' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^demo: ENVOY_BIN=\/nowhere\/envoy .*correct or unset it\.\n$/);
});

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

function runDemo(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return startDemo(args, env).done;
}

function startDemo(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [demo, ...args], { env: { ...process.env, ...env } });
  const outputs = { stdout: '', stderr: '' };
  const has = (name: 'stdout' | 'stderr', wanted: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (wanted.test(outputs[name])) resolve(outputs[name]);
      };
      child[name].on('data', look);
      child.once('close', () => reject(new Error(`the demo ended without ${wanted.source}: ${outputs.stderr}`)));
      look();
    });
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (outputs[name] += text));
  }
  const done = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...outputs })));
  return {
    child,
    done,
    stdoutHas: (wanted: RegExp) => has('stdout', wanted),
    stderrHas: (wanted: RegExp) => has('stderr', wanted),
  };
}

function lastLine(stdout: string): unknown {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
}
