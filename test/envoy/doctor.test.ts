import { execFile } from 'node:child_process';
import process from 'node:process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';
import { clusterNamed, connectionManager, startStack, type Stack } from '../../harness/stack.ts';

type Outcome = { readonly code: number; readonly lines: Array<Record<string, unknown>> };

/** Runs `doctor --json` on a live Envoy, with the processor's configuration that the stack has. */
function doctorOn(stack: Stack): Promise<Outcome> {
  const args = [join(repositoryRoot, 'dist', 'main.js'), 'doctor', '--admin', stack.envoy.adminUrl, '--json'];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code !== 'number' || stderr !== '') return reject(new Error(`doctor failed: ${stderr}`));
      const lines = stdout.split('\n').filter((line) => line !== '');
      return resolve({ code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) });
    });
  });
}

function ids({ lines }: Outcome): unknown[] {
  return lines.map(({ id }) => id);
}

/** What is said of the version that runs here, which is the test run's choice. */
async function ofItsVersion(stack: Stack): Promise<string[]> {
  const { version } = (await (await fetch(`${stack.envoy.adminUrl}/server_info`)).json()) as { version: string };
  return /\/1\.(37\.[0-6]|38\.[0-4]|39\.[01])\//.test(version) ? ['envoy_vulnerable'] : [];
}

describe('doctor on the admin of a running Envoy', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ leg: 'detached', processor: false });
  });
  afterAll(() => stack.close());

  test('reads the dump of the shipped configuration, and finds only the drain time, which is on the command line', async () => {
    const outcome = await doctorOn(stack);
    expect(ids(outcome)).toEqual([...(await ofItsVersion(stack)), 'drain_time']);
    expect(outcome.lines.at(-1)).toMatchObject({ path: 'server_info.command_line_options.drain_time' });
    expect(outcome.code).toBe(1);
  });
});

describe('doctor on the admin of an Envoy that drains for as long as an answer may stream', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ leg: 'detached', processor: false, envoyArgs: ['--drain-time-s', '1800'] });
  });
  afterAll(() => stack.close());

  test('finds nothing but what is known of its version', async () => {
    const expected = await ofItsVersion(stack);
    const outcome = await doctorOn(stack);
    expect(ids(outcome)).toEqual(expected);
    expect(outcome.code).toBe(expected.length === 0 ? 0 : 1);
  });
});

describe('doctor on the admin of a running Envoy that is set up badly', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      leg: 'attached',
      processor: false,
      mutateEnvoy: (config) => {
        const manager = connectionManager(config, 'ingress');
        const [first] = manager.http_filters;
        if (first === undefined) throw new Error('no filter');
        delete first.typed_config['failure_mode_allow'];
        delete manager['stream_idle_timeout'];
        const [host] = manager.route_config.virtual_hosts;
        const [route] = host?.routes ?? [];
        if (route !== undefined) route['request_body_buffer_limit'] = 1024;
        delete clusterNamed(config, 'coalescer')['circuit_breakers'];
      },
    });
  });
  afterAll(() => stack.close());

  test('finds each thing where the dump has it', async () => {
    const outcome = await doctorOn(stack);
    expect(outcome.code).toBe(1);
    expect(ids(outcome)).toEqual([
      'failing_closed',
      'request_bytes',
      'processor_circuit_breaker',
      ...(await ofItsVersion(stack)),
      'drain_time',
      'idle_timeout',
      'processor_pending_limit',
    ]);
    expect(outcome.lines[0]?.['path']).toMatch(/^configs\[\d+\]\.static_listeners\[0\]\.listener\.filter_chains\[0\]/);
  });
});
