/** The processor on a Unix socket, which Envoy reaches by its pipe address. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { clusterNamed, type EnvoyConfig } from '../../harness/stack.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const folder = mkdtempSync(join(tmpdir(), 'envoy-coalescer-socket-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'coalescer.sock');
  const shared = new SharedStack({
    leg,
    config: { listen: `unix:${path}` },
    mutateEnvoy: (config) => pointAt(config, path),
  });

  async function expectShared(prompt: string): Promise<void> {
    const earlier = shared.calls.length;
    const exchanges = await allDone(await shared.fly([1, 2, 3].map(() => shared.chat(prompt))));
    expect(shared.calls).toHaveLength(earlier + 1);
    expectWhole(exchanges, shared.calls[earlier]);
  }

  test('identical requests share', () => expectShared('by pipe'));

  test('a socket that a killed process left behind is replaced', async () => {
    await expectShared('before');
    shared.stack.processor.kill('SIGKILL');
    expect(await shared.stack.processor.exit).toEqual({ code: null, signal: 'SIGKILL' });
    await shared.stack.processor.restart();
    shared.countAnew();
    await expectShared('after');
  });
});

function pointAt(config: EnvoyConfig, path: string): void {
  const { load_assignment } = clusterNamed(config, 'coalescer');
  const endpoint: { address: object } | undefined = load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint;
  if (endpoint === undefined) throw new Error('the cluster has no endpoint');
  endpoint.address = { pipe: { path } };
}
