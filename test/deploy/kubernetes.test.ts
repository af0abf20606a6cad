/**
 * The kustomize overlays: they render, every object is of its schema, what one object names in another is there, and they
 * begin in shadow mode. The Envoy configuration in them is the shipped one, and a real Envoy accepts it.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type EnvoyConfig, shippedEnvoyConfig } from '../../harness/stack.ts';
import { repositoryRoot } from '../../harness/root.ts';
import {
  type KubernetesObject,
  objectsOf,
  readShipped,
  renderOverlay,
  validateEnvoy,
  withoutPlaces,
} from '../support/deployed.ts';
import { configFile, containersOf, podsOf, processorConfig } from '../support/kubernetes-pods.ts';
import { fieldMistakes, valueMistake } from '../support/kubernetes-schemas.ts';
import { podCertificates } from '../support/pod-certificates.ts';

const certificates = podCertificates();

describe.each([
  { overlay: 'sidecar', leg: 'detached' },
  { overlay: 'shared', leg: 'attached' },
  { overlay: 'redis', leg: 'detached' },
] as const)('the overlay $overlay', ({ overlay, leg }) => {
  const objects = renderOverlay(overlay);
  const pods = podsOf(objects);

  test.each(objects.map((object) => [object.kind, object.metadata.name, object] as const))(
    '%s %s has only values of its schema',
    (_kind, _name, object) => expect(valueMistake(object)).toBe(''),
  );

  test('no object has a field that its schema does not know', () => expect(fieldMistakes(objects)).toBe(''));

  test('the processor’s configuration is accepted and begins in shadow mode', () => {
    const config = processorConfig(objects, certificates);
    expect(config.policy.mode).toBe('shadow');
    expect(config.egress === null ? 'attached' : 'detached').toBe(leg);
    expect(config.admin).toMatchObject({ host: '127.0.0.1' });
  });

  test('Envoy’s configuration is the shipped one but for addresses, and Envoy accepts it', async () => {
    const text = configFile(objects, 'envoy', 'envoy.yaml');
    expect(withoutPlaces(parse(text) as EnvoyConfig)).toEqual(withoutPlaces(await shippedEnvoyConfig(leg)));
    // Where a pod has the other files of that ConfigMap, the overlay has them here.
    const here = text.replaceAll('/etc/envoy/', `${join(repositoryRoot, 'deploy/kubernetes/overlays', overlay)}/`);
    expect(await validateEnvoy(here)).toContain('OK');
  });

  test('Envoy finds the processor where it listens', () => {
    const { static_resources } = parse(configFile(objects, 'envoy', 'envoy.yaml')) as EnvoyConfig;
    const cluster = static_resources.clusters.find(({ name }) => name === 'coalescer');
    const [listen] = processorConfig(objects, certificates).listen;
    const address = cluster?.load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint.address;
    if (overlay !== 'shared') expect(address).toEqual({ pipe: { path: listen?.kind === 'unix' ? listen.path : '' } });
    else {
      const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'coalescer');
      const host = `coalescer.${service?.metadata.namespace ?? ''}.svc.cluster.local`;
      expect(address).toEqual({ socket_address: { address: host, port_value: 9002 } });
      expect(service).toMatchObject({ spec: { ports: [{ port: 9002, targetPort: 'grpc' }] } });
      expect(listen).toEqual({ kind: 'tcp', host: '0.0.0.0', port: 9002 });
    }
  });

  test('every volume that is mounted is there, and every ConfigMap that is named', () => {
    const configMaps = objects.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name);
    for (const { spec } of pods) {
      const volumes = spec.volumes.map(({ name }) => name);
      for (const container of containersOf(spec))
        expect(volumes).toEqual(expect.arrayContaining(container.volumeMounts.map(({ name }) => name)));
      for (const { configMap } of spec.volumes)
        if (configMap !== undefined) expect(configMaps).toContain(configMap.name);
    }
  });

  test('every selector finds pods, and every port that is named is a container’s', () => {
    const portNames = pods.flatMap(({ spec }) => containersOf(spec).flatMap(({ ports }) => ports ?? []));
    const known = portNames.map(({ name }) => name);
    for (const selector of selectorsIn(objects))
      expect(
        pods.filter(({ metadata }) => matches(metadata.labels, selector)),
        JSON.stringify(selector),
      ).not.toEqual([]);
    for (const port of namedPorts(objects)) expect(known).toContain(port);
  });

  test('pods run as the restricted profile asks, from pinned images', () => {
    for (const { spec } of pods) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of containersOf(spec)) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.image).toMatch(/:v?\d+\.\d+\.\d+$/);
      }
    }
  });

  test('a pod is given longer than its processor drains', () => {
    const drainSeconds = processorConfig(objects, certificates).drainMs / 1000;
    for (const { spec } of pods) expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(drainSeconds);
  });
});

test('the shared processor is reached by mTLS alone, with Secrets that cert-manager’s file makes', () => {
  const objects = renderOverlay('shared');
  expect(processorConfig(objects, certificates).tls?.files).toEqual({
    cert: '/etc/coalescer-tls/tls.crt',
    key: '/etc/coalescer-tls/tls.key',
    clientCa: '/etc/coalescer-tls/ca.crt',
  });
  const secrets = podsOf(objects).flatMap(({ spec }) => spec.volumes.flatMap(({ secret }) => secret?.secretName ?? []));
  const wanted = objectsOf(readShipped('deploy/kubernetes/cert-manager/certificates.yaml'))
    .filter(({ kind }) => kind === 'Certificate')
    .map(({ spec }) => spec as { secretName: string; dnsNames?: string[]; isCA?: boolean });
  const leaves = wanted.filter(({ isCA }) => isCA !== true);
  expect(secrets.toSorted()).toEqual(leaves.map(({ secretName }) => secretName).toSorted());
  const authority = configFile(objects, 'envoy', 'processor-authority.yaml');
  expect(leaves.flatMap(({ dnsNames }) => dnsNames ?? [])).toEqual([/exact: ([\w.-]+)/.exec(authority)?.[1]]);
});

test('the sidecar is a native one without a say in the pod’s readiness', () => {
  const [pod] = podsOf(renderOverlay('sidecar'));
  const [sidecar] = pod?.spec.initContainers ?? [];
  expect(sidecar).toMatchObject({ name: 'coalescer', restartPolicy: 'Always' });
  expect(sidecar?.['readinessProbe']).toBeUndefined();
});

test('the pods that share through Redis have one secret, from a Secret that is not in the repository', () => {
  const objects = renderOverlay('redis');
  const config = processorConfig(objects, certificates);
  expect(config.redis).toMatchObject({ encrypt: true });
  expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  const [pod] = podsOf(objects);
  expect(pod?.spec.volumes).toContainEqual(
    expect.objectContaining({ secret: { secretName: 'coalescer-key', defaultMode: 0o440 } }),
  );
  const [sidecar] = pod?.spec.initContainers ?? [];
  expect(sidecar?.volumeMounts).toContainEqual({
    name: 'coalescer-key',
    mountPath: '/etc/coalescer-key',
    readOnly: true,
  });
});

test('the shared processor is open to labelled pods alone, and the gateway has the label', () => {
  const objects = renderOverlay('shared');
  const policy = objects.find(({ kind }) => kind === 'NetworkPolicy');
  const label = { 'coalescer-client': 'true' };
  expect(policy).toMatchObject({
    spec: { egress: [], ingress: [{ from: [{ podSelector: { matchLabels: label } }], ports: [{ port: 'grpc' }] }, {}] },
  });
  const gateway = podsOf(objects).find(({ deployment }) => deployment === 'llm-gateway');
  expect(gateway?.metadata.labels).toMatchObject(label);
});

test('a field that no schema knows is found', () => {
  const [service] = renderOverlay('shared').filter(({ kind }) => kind === 'Service');
  const spec = service?.['spec'] as object;
  expect(fieldMistakes([{ ...service, spec: { ...spec, selectr: {} } } as unknown as KubernetesObject])).toContain(
    'selectr',
  );
});

type Selector = {
  matchLabels?: Record<string, string>;
  matchExpressions?: Array<{ key: string; operator: string; values: string[] }>;
};

function matches(labels: Record<string, string>, { matchLabels, matchExpressions }: Selector): boolean {
  const equal = Object.entries(matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return equal && (matchExpressions ?? []).every(({ key, values }) => values.includes(labels[key] ?? ''));
}

/** Of Services, Deployments, budgets, monitors and policies; those of other namespaces' pods are none. */
function selectorsIn(objects: readonly KubernetesObject[]): Selector[] {
  return objects.flatMap(({ kind, spec }) => {
    const { selector, podSelector } = (spec ?? {}) as { selector?: Selector; podSelector?: Selector };
    if (kind === 'Service') return [{ matchLabels: selector as Record<string, string> }];
    return [selector, podSelector].filter((one) => one !== undefined);
  });
}

/** Every port that an object refers to by its name. */
function namedPorts(objects: readonly KubernetesObject[]): string[] {
  const found: string[] = [];
  JSON.stringify(objects, (key: string, value: unknown) => {
    if ((key === 'port' || key === 'targetPort') && typeof value === 'string') found.push(value);
    return value;
  });
  return found;
}
