/**
 * The files of the overlay `sidecar`, run natively: over the Unix socket, in shadow mode until a route says otherwise, with
 * pages for the kubelet, and with the preStop script that lets answers finish.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, describe, expect, test } from 'vitest';
import { begin, send } from '../../harness/http-client.ts';
import { repositoryRoot } from '../../harness/root.ts';
import { clusterNamed, type EnvoyConfig, replacePorts } from '../../harness/stack.ts';
import { startChild } from '../../harness/stack/child.ts';
import { freePort } from '../../harness/stack/processor-process.ts';
import { until } from '../support/condition.ts';
import { parseShipped } from '../support/deployed.ts';
import { withRoute } from '../support/envoy-policy.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const overlay = 'deploy/kubernetes/overlays/sidecar';
const folder = mkdtempSync(join(tmpdir(), 'envoy-coalescer-sidecar-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const socket = join(folder, 'coalescer.sock');
const [adminPort, probesPort] = [await freePort(), await freePort()];

const {
  admin: _admin,
  egress: _egress,
  ...settings
} = parseShipped(`${overlay}/coalescer.yaml`) as Record<string, unknown>;
const shared = new SharedStack({
  leg: 'detached',
  config: { ...settings, listen: `unix:${socket}`, probes: `127.0.0.1:${probesPort}` },
  mutateEnvoy: (config) => {
    useOverlay(config);
    const overrides = { grpc_initial_metadata: [{ key: 'x-coalesce-policy', value: '{"mode":"enforce"}' }] };
    withRoute('/first/', { overrides })(config);
  },
});

describe('rollout', () => {
  test('in shadow mode every caller makes its own call, and what would be shared is counted', async () => {
    const pacer = shared.pacedAnswer();
    const sent = [begin(shared.chat('hello'))];
    await shared.waitForCalls(1);
    sent.push(begin(shared.chat('hello')), begin(shared.chat('hello')));
    await shared.waitForCalls(3);
    pacer.openAll();
    for (const exchange of await allDone(sent)) expectWhole([exchange], shared.callOf(exchange));
    expect(await shared.counted('coalesce_shadow_total{verdict="would_hit"}')).toBe(2);
    expect(await shared.counted('coalesce_hits_total')).toBe(0);
  });

  test('one route that enforces shares', async () => {
    const onRoute = (): ReturnType<typeof shared.chat> & { path: string } => {
      const request = shared.chat('hello');
      return { ...request, path: `/first${request.path}` };
    };
    expectWhole(await allDone(await shared.fly([onRoute(), onRoute(), onRoute()])), shared.calls[0]);
    expect(shared.calls).toHaveLength(1);
  });
});

test('the kubelet and Prometheus get their pages, of Envoy and of the processor, and no other', async () => {
  const envoy = `http://127.0.0.1:${shared.stack.envoy.ports.get('probes') ?? 0}`;
  const processor = `http://127.0.0.1:${probesPort}`;
  expect((await send({ url: envoy, method: 'GET', path: '/ready' })).status).toBe(200);
  const stats = await send({ url: envoy, method: 'GET', path: '/stats/prometheus' });
  expect(stats.body.toString()).toContain('envoy_http_ext_proc_decide_streams_started');
  expect((await send({ url: envoy, method: 'GET', path: '/config_dump' })).status).toBe(404);
  for (const path of ['/healthz', '/readyz', '/metrics'])
    expect((await send({ url: processor, method: 'GET', path })).status).toBe(200);
  expect((await send({ url: processor, method: 'GET', path: '/flights' })).status).toBe(404);
});

describe('preStop', () => {
  test('readiness says no at once, and it ends when the last answer has', async () => {
    const pacer = shared.pacedAnswer();
    const sent = begin(shared.chat('a last one'));
    await pacer.reached('head');
    const script = await drain({ SETTLE_SECONDS: '0' });
    const envoy = `http://127.0.0.1:${shared.stack.envoy.ports.get('probes') ?? 0}`;
    await until(
      'readiness 503',
      async () => (await send({ url: envoy, method: 'GET', path: '/ready' })).status === 503,
    );
    expect(script.exited()).toBeUndefined();
    pacer.openAll();
    expectWhole([await sent.done], shared.calls[0]);
    expect(await script.exit).toEqual({ code: 0, signal: null });
  });

  test('an answer that does not end holds it up no longer than its limit', async () => {
    const pacer = shared.pacedAnswer();
    const sent = begin(shared.chat('without end'));
    await pacer.reached('head');
    const script = await drain({ SETTLE_SECONDS: '0', LIMIT_SECONDS: '1' });
    expect(await script.exit).toEqual({ code: 0, signal: null });
    expect(shared.calls[0]?.endedAtMs).toBeUndefined();
    pacer.openAll();
    await sent.done;
  });

  test('where Envoy is gone it ends at once', async () => {
    const script = await drain({ ENVOY_ADMIN_PORT: String(await freePort()), SETTLE_SECONDS: '60' });
    expect(await script.exit).toEqual({ code: 0, signal: null });
  });
});

function drain(settings: Record<string, string>): ReturnType<typeof startChild> {
  const variables = { ENVOY_ADMIN_PORT: String(adminPort), ...settings };
  return startChild({
    name: 'drain.sh',
    command: 'env',
    args: [
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      ...['bash', join(repositoryRoot, 'deploy/kubernetes/base/drain.sh')],
    ],
    logBase: join(folder, `drain-${process.hrtime.bigint()}`),
  });
}

/** The overlay's Envoy in place of the shipped one, with addresses of this machine. */
function useOverlay(config: EnvoyConfig): void {
  const llm = placeOf(config, 'llm').port_value;
  Object.assign(config, parseShipped(`${overlay}/envoy.yaml`));
  const coalescer: { address: object } | undefined = endpointOf(config, 'coalescer');
  if (coalescer !== undefined) coalescer.address = { socket_address: {} };
  replacePorts(config, { llm, coalescer: 0 });
  if (coalescer !== undefined) coalescer.address = { pipe: { path: socket } };
  placeOf(config, 'llm').address = '127.0.0.1';
  config.admin.address.socket_address.port_value = adminPort;
  placeOf(config, 'admin').port_value = adminPort;
  for (const { address } of config.static_resources.listeners) address.socket_address.address = '127.0.0.1';
}

type Endpoint = { address: { socket_address: { address: string; port_value: number } } };

function endpointOf(config: EnvoyConfig, cluster: string): Endpoint | undefined {
  return clusterNamed(config, cluster).load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint;
}

function placeOf(config: EnvoyConfig, cluster: string): { address: string; port_value: number } {
  const endpoint = endpointOf(config, cluster);
  if (endpoint === undefined) throw new Error(`${cluster} has no endpoint`);
  return endpoint.address.socket_address;
}
