/**
 * deploy/istio and deploy/envoy-gateway: objects of their schemas, and what the control plane makes of them shares on a real
 * Envoy, in a gateway whose buffers are as small as a mesh's.
 */
import { describe, expect, test } from 'vitest';
import { Ajv } from 'ajv';
import {
  clusterNamed,
  connectionManager,
  type EnvoyConfig,
  type HttpFilter,
  removeFilters,
  setClusterPort,
  shippedEnvoyConfig,
  startStack,
  expectQuiet,
} from '../../harness/stack.ts';
import { burst, chat } from '../../harness/http-client.ts';
import { type KubernetesObject, objectsOf, readShipped, validateEnvoy } from '../support/deployed.ts';
import { fieldMistakes, valueMistake } from '../support/kubernetes-schemas.ts';
import { applyEnvoyFilter, applyExtensionPolicy, applyPatchPolicy, type ExtProc } from '../support/mesh-patches.ts';

type Apply = (config: EnvoyConfig) => void;
type Spec<Content> = { spec: Content };

const envoyFilter = only('deploy/istio/envoy-filter.yaml', 'EnvoyFilter');
const patchPolicy = only('deploy/envoy-gateway/patch-policy.yaml', 'EnvoyPatchPolicy');
const extensionPolicy = only('deploy/envoy-gateway/extension-policy.yaml', 'EnvoyExtensionPolicy');

const asIstio: Apply = (config) => {
  const { spec } = envoyFilter as unknown as Spec<{ configPatches: Parameters<typeof applyEnvoyFilter>[1] }>;
  applyEnvoyFilter(config, structuredClone(spec.configPatches));
};
const asPatchPolicy: Apply = (config) => {
  const { spec } = patchPolicy as unknown as Spec<{ jsonPatches: Parameters<typeof applyPatchPolicy>[1] }>;
  applyPatchPolicy(config, structuredClone(spec.jsonPatches));
  setListenerBuffer(config);
};

describe('schemas', () => {
  test('the EnvoyFilter is of Istio’s', () => {
    expect(valueMistake(envoyFilter)).toBe('');
    expect(fieldMistakes([envoyFilter])).toBe('');
  });

  test.each(['patch-policy.yaml', 'extension-policy.yaml'])('every object of %s is of Envoy Gateway’s', (file) => {
    const objects = objectsOf(readShipped(`deploy/envoy-gateway/${file}`));
    const known = objects.filter(({ apiVersion }) => apiVersion === 'gateway.envoyproxy.io/v1alpha1');
    expect(known).toHaveLength(2);
    for (const object of known) expect(envoyGatewayMistakes(object)).toEqual([]);
  });

  test('a field that Envoy Gateway does not know is found', () => {
    const wrong = { ...patchPolicy, spec: { ...(patchPolicy['spec'] as object), jsonPatchs: [] } };
    expect(envoyGatewayMistakes(wrong)).not.toEqual([]);
  });
});

test.each([
  ['Istio', asIstio],
  ['an EnvoyPatchPolicy', asPatchPolicy],
])('by %s the chain is the shipped one, and Envoy accepts it', async (_mesh, apply) => {
  const config = await gateway();
  apply(config);
  const shipped = connectionManager(await shippedEnvoyConfig('attached'), 'ingress').http_filters;
  expect(connectionManager(config, 'ingress').http_filters).toEqual([...others, ...shipped]);
  const { dns_lookup_family: _family, transport_socket: tls, ...cluster } = clusterNamed(config, 'coalescer');
  expect(tls).toMatchObject({ typed_config: { sni: 'coalescer.llm-gateway.svc.cluster.local' } });
  const places = { type: '', load_assignment: {} };
  const shippedCluster = clusterNamed(await shippedEnvoyConfig('attached'), 'coalescer');
  expect({ ...cluster, ...places }).toEqual({ ...shippedCluster, ...places });
  withoutTls(config);
  expect(await validateEnvoy(config)).toContain('OK');
});

test.each([
  ['Istio', asIstio],
  ['an EnvoyPatchPolicy', asPatchPolicy],
  ['an EnvoyExtensionPolicy', undefined],
])('by %s callers share, those with 300 kB too', async (_mesh, apply) => {
  const stack = await startStack({
    leg: 'attached',
    mock: { script: { delayMs: 300 } },
    mutateEnvoy: (config) => attach(config, apply),
  });
  try {
    for (const prompt of ['short', 'long '.repeat(60_000)]) {
      const earlier = stack.mock.callCount();
      const exchanges = await Promise.all(
        burst(3, () => ({ url: stack.ingress.url, ...chat(prompt) })).map(({ done }) => done),
      );
      expect(exchanges.map(({ status, ending }) => [status, ending])).toEqual(Array(3).fill([200, 'complete']));
      expect(stack.mock.callCount()).toBe(earlier + 1);
    }
    await expectQuiet(stack);
  } finally {
    await stack.close();
  }
});

/** The certificates are the mesh's to bring; on this machine nobody does. */
function withoutTls(config: EnvoyConfig): void {
  delete clusterNamed(config, 'coalescer')['transport_socket'];
}

/** Filters of the mesh's own, which stay in front. */
const others: readonly HttpFilter[] = [
  {
    name: 'envoy.filters.http.grpc_stats',
    typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.grpc_stats.v3.FilterConfig' },
  },
];

/** The gateway of a mesh that does not know us: our shipped Envoy without filters and processor, with small buffers. */
async function gateway(): Promise<EnvoyConfig> {
  const config = await shippedEnvoyConfig('attached');
  makeGateway(config);
  return config;
}

function makeGateway(config: EnvoyConfig): void {
  removeFilters(config);
  const manager = connectionManager(config, 'ingress');
  manager.http_filters = [...others, ...manager.http_filters];
  for (const { routes } of manager.route_config.virtual_hosts)
    for (const route of routes) delete route['request_body_buffer_limit'];
  for (const listener of config.static_resources.listeners) listener['per_connection_buffer_limit_bytes'] = 32_768;
  const { clusters } = config.static_resources;
  config.static_resources.clusters = clusters.filter(({ name }) => name !== 'coalescer');
}

/** What a ClientTrafficPolicy with `bufferLimit: 1Mi` does. */
function setListenerBuffer(config: EnvoyConfig): void {
  for (const listener of config.static_resources.listeners) listener['per_connection_buffer_limit_bytes'] = 2 ** 20;
}

/** Without `apply` by the EnvoyExtensionPolicy. The processor is where the stack has it. */
function attach(config: EnvoyConfig, apply: Apply | undefined): void {
  const processor = clusterNamed(config, 'coalescer');
  const address = processor.load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint.address.socket_address;
  makeGateway(config);
  if (apply === undefined) {
    const { spec } = extensionPolicy as unknown as Spec<{ extProc: ExtProc[] }>;
    applyExtensionPolicy(config, spec.extProc, processor);
    setListenerBuffer(config);
    return;
  }
  apply(config);
  withoutTls(config);
  setClusterPort(config, 'coalescer', address?.port_value ?? 0);
  const place = clusterNamed(config, 'coalescer').load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint.address;
  if (place !== undefined) place.socket_address.address = '127.0.0.1';
}

function only(file: string, kind: string): KubernetesObject {
  const found = objectsOf(readShipped(file)).filter((object) => object.kind === kind);
  if (found[0] === undefined || found.length > 1) throw new Error(`${file} has ${found.length} of ${kind}`);
  return found[0];
}

function envoyGatewayMistakes(object: KubernetesObject): unknown[] {
  const { schemas } = JSON.parse(readShipped('test/data/envoy-gateway-schemas.json')) as {
    schemas: Record<string, object>;
  };
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile(closed(schemas[object.kind]) as object);
  return validate(object) ? [] : (validate.errors ?? []);
}

/** A schema whose objects have no other members than those that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([name, value]) => [name, closed(value)] as const);
  const isOpen = !('properties' in schema) || !('type' in schema) || 'x-kubernetes-preserve-unknown-fields' in schema;
  return { ...Object.fromEntries(members), ...(isOpen ? {} : { additionalProperties: false }) };
}
