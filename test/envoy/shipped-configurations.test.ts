/**
 * The files in envoy/ are what an operator copies: Envoy accepts each as it is, and the fragment in a configuration of
 * another's making. Without a processor they change nothing for a caller.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { findEnvoy } from '../../harness/envoy-binary.ts';
import { burst, chat, send } from '../../harness/http-client.ts';
import { repositoryRoot } from '../../harness/root.ts';
import {
  type Cluster,
  connectionManager,
  type EnvoyConfig,
  type HttpFilter,
  removeFilters,
  shippedEnvoyConfig,
  startStack,
} from '../../harness/stack.ts';

const execute = promisify(execFile);
const envoyFolder = join(repositoryRoot, 'envoy');

let work = '';
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'envoy-coalescer-configs-'));
});
afterAll(() => rm(work, { recursive: true, force: true }));

describe('Envoy accepts', () => {
  test.each(['envoy.yaml', 'envoy.attached.yaml'])('%s as it is', async (file) => {
    expect(await validate(join(envoyFolder, file))).toContain('OK');
  });

  test('the fragment in a configuration without us', async () => {
    const spliced = join(work, 'spliced.yaml');
    await writeFile(spliced, stringify(await spliceFragment()));
    expect(await validate(spliced)).toContain('OK');
  });
});

test('the fragment begins in shadow and is otherwise the chain of the whole files', async () => {
  const fragment = await readFragment();
  const whole = connectionManager(await shippedEnvoyConfig('attached'), 'ingress').http_filters.slice(0, 2);
  const [policy] = initialMetadata(fragment.http_filters[0]).splice(1);
  expect(policy).toEqual({ key: 'x-coalesce-policy', value: '{"mode":"shadow"}' });
  expect(fragment.http_filters).toEqual(whole);
});

describe.each(['attached', 'detached'] as const)('with nothing where the processor should be, %s', (leg) => {
  test('every caller gets the upstream’s own answer, and nothing is shared', async () => {
    const stack = await startStack({ leg, processor: false });
    try {
      const exchanges = await Promise.all(
        burst(20, (index) => ({ url: stack.ingress.url, version: index % 2 === 0 ? 1 : 2, ...chat('same') })).map(
          ({ done }) => done,
        ),
      );
      expect(exchanges.map(({ status, ending }) => [status, ending])).toEqual(Array(20).fill([200, 'complete']));
      expect(new Set(exchanges.map(({ headers }) => headers['x-mock-call'])).size).toBe(20);
    } finally {
      await stack.close();
    }
  });
});

test('the egress takes the mark of our own calls away', async () => {
  const stack = await startStack({ leg: 'detached', processor: false });
  try {
    const url = stack.egressUrl ?? '';
    await send({ url, ...chat('hello', { headers: { 'x-coalesce-flight': 'f1' } }) });
    expect(stack.mock.calls[0]?.headers['x-coalesce-flight']).toBeUndefined();
  } finally {
    await stack.close();
  }
});

type Fragment = { http_filters: HttpFilter[]; clusters: Cluster[] };

async function readFragment(): Promise<Fragment> {
  return parse(await readFile(join(envoyFolder, 'http-filters.yaml'), 'utf8')) as Fragment;
}

/** Another's Envoy: ours without filters and without the processor's cluster, and then the fragment. */
async function spliceFragment(): Promise<EnvoyConfig> {
  const [config, fragment] = [await shippedEnvoyConfig('attached'), await readFragment()];
  removeFilters(config);
  const manager = connectionManager(config, 'ingress');
  manager.http_filters = [...fragment.http_filters, ...manager.http_filters];
  const others = config.static_resources.clusters.filter(({ name }) => name !== 'coalescer');
  config.static_resources.clusters = [...others, ...fragment.clusters];
  return config;
}

function initialMetadata(filter: HttpFilter | undefined): unknown[] {
  const service = filter?.typed_config['grpc_service'] as { initial_metadata: unknown[] };
  return service.initial_metadata;
}

async function validate(path: string): Promise<string> {
  const args = ['--mode', 'validate', '--disable-hot-restart', '--log-level', 'error', '--config-path', path];
  const { stdout, stderr } = await execute(await findEnvoy(), args);
  return stdout + stderr;
}
