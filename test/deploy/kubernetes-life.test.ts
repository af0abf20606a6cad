/**
 * How the pods of the overlays live: who asks them whether they are well, in what order they stop, what they may use, how many
 * of them may be away, who reads their metrics. That the objects are valid and fit together is in kubernetes.test.ts.
 */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { EnvoyConfig } from '../../harness/stack.ts';
import { readShipped, renderOverlay } from '../support/deployed.ts';
import { configFile, type Container, containersOf, podsOf, processorConfig } from '../support/kubernetes-pods.ts';
import { podCertificates } from '../support/pod-certificates.ts';

const mebibyte = 2 ** 20;
const certificates = podCertificates();

describe.each(['sidecar', 'shared'] as const)('the overlay %s', (overlay) => {
  const objects = renderOverlay(overlay);
  const pods = podsOf(objects);
  const containers = pods.flatMap(({ spec }) => containersOf(spec));
  const config = processorConfig(objects, certificates);
  const envoyConfig = parse(configFile(objects, 'envoy', 'envoy.yaml')) as EnvoyConfig;
  const named = (name: string): Container => {
    const found = containers.find((container) => container.name === name);
    if (found === undefined) throw new Error(`no container ${name}`);
    return found;
  };

  test('the kubelet asks an address that it can reach, for a page that is there', () => {
    const ports = new Map(
      containers.flatMap(({ ports: own }) => own ?? []).map((one) => [one.name, one.containerPort]),
    );
    expect(config.probes).toEqual({ kind: 'tcp', host: '0.0.0.0', port: ports.get('probes') });
    const probes = envoyConfig.static_resources.listeners.find(({ name }) => name === 'probes');
    expect(probes?.address.socket_address).toEqual({ address: '0.0.0.0', port_value: ports.get('envoy-probes') });
    const { startupProbe, livenessProbe } = named('coalescer');
    expect([startupProbe, livenessProbe].map((probe) => probe?.httpGet)).toEqual([
      { path: '/healthz', port: 'probes' },
      { path: '/healthz', port: 'probes' },
    ]);
    for (const probe of [named('envoy')['startupProbe'], named('envoy')['readinessProbe']])
      expect(probe?.httpGet).toEqual({ path: '/ready', port: 'envoy-probes' });
    // An Envoy that says no to readiness drains; killed for it, it would cut every answer.
    expect(named('envoy')['livenessProbe']).toBeUndefined();
  });

  test('Envoy is not told to stop before its answers are over, and the pod waits for longer than that', () => {
    const command = named('envoy').lifecycle?.preStop.exec.command ?? [];
    const mount = named('envoy').volumeMounts.find(({ name }) => name === 'envoy-drain');
    expect(command).toEqual(['bash', `${mount?.mountPath ?? ''}/drain.sh`]);
    expect(configFile(objects, 'envoy-drain', 'drain.sh')).toBe(readShipped('deploy/kubernetes/base/drain.sh'));
    const limitSeconds = Number(/LIMIT_SECONDS:-(\d+)/.exec(readShipped('deploy/kubernetes/base/drain.sh'))?.[1]);
    const [gateway] = pods.filter(({ deployment }) => deployment === 'llm-gateway');
    expect(limitSeconds * 1000).toBeGreaterThan(config.policy.deadlines.totalMs);
    expect(gateway?.spec.terminationGracePeriodSeconds).toBeGreaterThan(limitSeconds);
    const drainSeconds = Number(named('envoy').args[named('envoy').args.indexOf('--drain-time-s') + 1]);
    expect(drainSeconds * 1000).toBeGreaterThanOrEqual(config.policy.deadlines.totalMs);
  });

  test('every container says what it needs and has a limit of memory; the processor’s holds what its limits allow', () => {
    for (const { name, resources } of containers) {
      expect(resources.requests, name).toEqual({
        cpu: expect.any(String) as string,
        memory: expect.any(String) as string,
      });
      expect(bytesOf(resources.limits.memory), name).toBeGreaterThanOrEqual(bytesOf(resources.requests.memory));
      // A limit of CPU would throttle decisions just when a burst comes.
      expect(resources.limits.cpu, name).toBeUndefined();
    }
    const { maxReplayBytesTotal, maxRequestBytesTotal } = config.limits;
    const worst = 150 * mebibyte + maxReplayBytesTotal + maxRequestBytesTotal;
    expect(bytesOf(named('coalescer').resources.limits.memory)).toBeGreaterThan(worst);
  });

  test('a node can be drained: each Deployment has one budget, and it lets a pod go', () => {
    const budgets = objects.filter(({ kind }) => kind === 'PodDisruptionBudget') as unknown as Budget[];
    for (const { deployment, replicas, metadata } of pods) {
      const own = budgets.filter(({ spec }) => spec.selector.matchLabels[nameLabel] === metadata.labels[nameLabel]);
      expect(own, deployment).toHaveLength(1);
      const { minAvailable = 0, maxUnavailable = replicas - minAvailable } = own[0]?.spec ?? {};
      expect(maxUnavailable, deployment).toBeGreaterThan(0);
    }
  });

  test('Prometheus reads every pod: the processor’s metrics and Envoy’s', () => {
    const [monitor] = objects.filter(({ kind }) => kind === 'PodMonitor') as unknown as Monitor[];
    const wanted = monitor?.spec.selector.matchExpressions.find(({ key }) => key === nameLabel)?.values ?? [];
    for (const { metadata } of pods) expect(wanted).toContain(metadata.labels[nameLabel]);
    expect(monitor?.spec.podMetricsEndpoints).toEqual([
      { port: 'probes', path: '/metrics' },
      { port: 'envoy-probes', path: '/stats/prometheus' },
    ]);
    for (const port of ['probes', 'envoy-probes'])
      expect(containers.flatMap(({ ports }) => ports ?? []).map(({ name }) => name)).toContain(port);
  });

  test('no pod has a token of the cluster, files are mounted read-only, and the namespace asks for the restricted profile', () => {
    for (const { spec } of pods) expect(spec.automountServiceAccountToken).toBe(false);
    const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts).filter(({ name }) => name !== 'socket');
    for (const { name, readOnly } of mounts) expect(readOnly, name).toBe(true);
    const namespace = objects.find(({ kind }) => kind === 'Namespace');
    expect(namespace?.metadata).toMatchObject({ labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } });
  });
});

test('the sidecar’s socket is in a folder that both containers have, and that is on no disk', () => {
  const objects = renderOverlay('sidecar');
  const [pod] = podsOf(objects);
  const [listen] = processorConfig(objects, certificates).listen;
  const mounts = pod === undefined ? [] : containersOf(pod.spec).map(({ volumeMounts }) => mountOf(volumeMounts));
  expect(mounts).toHaveLength(2);
  for (const mount of mounts) expect(listen?.kind === 'unix' ? listen.path : '').toBe(`${mount ?? ''}/coalescer.sock`);
  expect(pod?.spec.volumes.find(({ name }) => name === 'socket')?.emptyDir).toMatchObject({ medium: 'Memory' });
});

test('the shared processor is ready before the old one goes, and new connections go elsewhere before it drains', () => {
  const objects = renderOverlay('shared');
  const deployment = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'coalescer');
  expect(deployment).toMatchObject({
    spec: { replicas: 1, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
  });
  const [container] = podsOf(objects).find(({ deployment: name }) => name === 'coalescer')?.spec.containers ?? [];
  expect(container?.['readinessProbe']?.httpGet).toEqual({ path: '/readyz', port: 'probes' });
  expect(container?.lifecycle?.preStop.exec.command[0]).toBe('/nodejs/bin/node');
});

const nameLabel = 'app.kubernetes.io/name';

type Budget = {
  spec: { minAvailable?: number; maxUnavailable?: number; selector: { matchLabels: Record<string, string> } };
};
type Monitor = {
  spec: {
    selector: { matchExpressions: Array<{ key: string; values: string[] }> };
    podMetricsEndpoints: Array<{ port: string; path: string }>;
  };
};

function mountOf(mounts: Container['volumeMounts']): string | undefined {
  return mounts.find(({ name }) => name === 'socket')?.mountPath;
}

/** Of `512Mi` or `1Gi`. */
function bytesOf(amount: string | undefined): number {
  const [, count, unit] = /^(\d+)(Mi|Gi)$/.exec(amount ?? '') ?? [];
  return Number(count) * (unit === 'Gi' ? 1024 : 1) * mebibyte;
}
