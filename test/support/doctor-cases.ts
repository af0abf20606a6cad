/**
 * One case per finding of `doctor`: the shipped envoy.yaml with one thing broken, and where that must be found.
 */
import type { FindingId } from '../../src/doctor/catalogue.ts';

type Step = string | number;

/** Plain data of a configuration, to change. */
export interface Editable {
  set(path: readonly Step[], value: unknown): void;
  remove(path: readonly Step[]): void;
  insert(list: readonly Step[], index: number, value: unknown): void;
}

export interface DoctorCase {
  readonly id: FindingId;
  readonly what: string;
  readonly change: (config: Editable) => void;
  readonly path: readonly Step[];
  /** Of the processor, as YAML; the shipped one where it is not given. */
  readonly processor?: string;
}

const managerOf = (listener: number): Step[] => {
  return ['static_resources', 'listeners', listener, 'filter_chains', 0, 'filters', 0, 'typed_config'];
};
export const ingress: readonly Step[] = managerOf(0);
const egress: readonly Step[] = managerOf(1);
const chain = [...ingress, 'http_filters'];
export const decide: readonly Step[] = [...chain, 0, 'typed_config'];
export const deliver: readonly Step[] = [...chain, 1, 'typed_config', 'extension_config', 'typed_config'];
const routeOf = (manager: readonly Step[]): Step[] => [...manager, 'route_config', 'virtual_hosts', 0, 'routes', 0];
export const route: readonly Step[] = routeOf(ingress);
const cluster: readonly Step[] = ['static_resources', 'clusters', 0];
const options = [
  ...cluster,
  'typed_extension_protocol_options',
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
];

/** An HTTP filter of a kind, as it stands in a list. */
export function httpFilter(kind: string, more: object = {}): object {
  const typed = { '@type': `type.googleapis.com/envoy.extensions.filters.http.${kind}.v3.Any`, ...more };
  return { name: `envoy.filters.http.${kind}`, typed_config: typed };
}

const setting = (id: FindingId, path: readonly Step[], value: unknown): DoctorCase => {
  return {
    id,
    what: `${String(path.at(-1))} is ${JSON.stringify(value)}`,
    change: (config) => config.set(path, value),
    path,
  };
};
const lacking = (id: FindingId, path: readonly Step[]): DoctorCase => {
  return { id, what: `${String(path.at(-1))} is missing`, change: (config) => config.remove(path), path };
};
const inserted = (id: FindingId, index: number, filter: object, where = chain): DoctorCase => {
  const what = `a filter ${JSON.stringify(filter).slice(0, 40)} at ${index}`;
  return { id, what, change: (config) => config.insert(where, index, filter), path: [...where, index] };
};
const both = (
  path: (filter: readonly Step[]) => readonly Step[],
  make: (path: readonly Step[]) => DoctorCase,
): DoctorCase[] => {
  return [make(path(decide)), make(path(deliver))];
};

const presence: readonly DoctorCase[] = [
  {
    id: 'filters_missing',
    what: 'neither filter is there',
    change: (config) => (config.remove([...chain, 1]), config.remove([...chain, 0])),
    path: ['static_resources', 'listeners'],
  },
  { ...lacking('decide_missing', [...chain, 0]), path: chain },
  { ...lacking('deliver_missing', [...chain, 1]), path: chain },
  {
    id: 'filter_order',
    what: 'deliver stands first',
    change: (config) => {
      config.insert(chain, 2, httpFilter('ext_proc', decideAgain));
      config.remove([...chain, 0]);
    },
    path: [...chain, 0],
  },
];

const decideAgain = {
  grpc_service: {
    envoy_grpc: { cluster_name: 'coalescer' },
    initial_metadata: [{ key: 'x-coalesce-filter', value: 'decide' }],
  },
  failure_mode_allow: true,
  allow_mode_override: true,
  message_timeout: '5s',
  processing_mode: { response_header_mode: 'SKIP' },
  request_attributes: ['xds.route_name'],
  metadata_options: { receiving_namespaces: { untyped: ['coalesce'] } },
};

const filters: readonly DoctorCase[] = [
  ...both(
    (filter) => [...filter, 'failure_mode_allow'],
    (path) => lacking('failing_closed', path),
  ),
  ...both(
    (filter) => [...filter, 'allow_mode_override'],
    (path) => setting('mode_override_off', path, false),
  ),
  setting('mode_override_off', [...decide, 'allowed_override_modes'], [{ request_body_mode: 'BUFFERED' }]),
  ...['observability_mode', 'disable_immediate_response'].flatMap((field) => {
    return both(
      (filter) => [...filter, field],
      (path) => setting('answers_ignored', path, true),
    );
  }),
  setting('headers_withheld', [...decide, 'forward_rules'], {
    disallowed_headers: { patterns: [{ exact: 'x-tier' }] },
  }),
  ...both(
    (filter) => [...filter, 'processing_mode', 'request_body_mode'],
    (path) => setting('processing_mode', path, 'BUFFERED'),
  ),
  ...both(
    (filter) => [...filter, 'processing_mode', 'response_header_mode'],
    (path) => lacking('processing_mode', path),
  ),
  ...both(
    (filter) => [...filter, 'message_timeout'],
    (path) => lacking('message_timeout_short', path),
  ),
  ...both(
    (filter) => [...filter, 'message_timeout'],
    (path) => setting('message_timeout_short', path, '0.999s'),
  ),
  lacking('max_message_timeout_short', [...deliver, 'max_message_timeout']),
  setting('max_message_timeout_short', [...deliver, 'max_message_timeout'], '900s'),
  ...both(
    (filter) => [...filter, 'grpc_service', 'timeout'],
    (path) => setting('grpc_timeout', path, '60s'),
  ),
  ...both(
    (filter) => [...filter, 'grpc_service', 'initial_metadata'],
    (path) => lacking('filter_metadata_missing', path),
  ),
  ...both(
    (filter) => [...filter, 'metadata_options', 'receiving_namespaces', 'untyped'],
    (path) => setting('namespace_not_received', path, ['other']),
  ),
  lacking('namespace_not_forwarded', [...deliver, 'metadata_options', 'forwarding_namespaces', 'untyped']),
  lacking('route_not_in_key', [...decide, 'request_attributes']),
  {
    ...lacking('tenants_unreachable', [...decide, 'metadata_options', 'forwarding_namespaces', 'untyped']),
    processor: 'tenant: {from: [{metadata: {namespace: a.gateway, path: [user]}}]}',
  },
  {
    ...setting('tenants_unreachable', [...decide, 'request_attributes'], ['xds.route_name']),
    processor: 'tenant: {from: [{attribute: source.principal}]}',
    path: [...decide, 'metadata_options', 'forwarding_namespaces', 'untyped'],
  },
  {
    ...lacking('tenants_unreachable', [...decide, 'metadata_options', 'forwarding_namespaces', 'untyped']),
    processor:
      'policies: {careful: {tenant: {from: [{metadata: {namespace: a.gateway, path: [user]}}], anonymous: bypass}}}',
  },
  {
    id: 'tenants_unreachable',
    what: 'only jwt_authn names tenants, and it does not run',
    change: () => undefined,
    path: [...decide, 'metadata_options', 'forwarding_namespaces', 'untyped'],
    processor: 'tenant: {from: [{metadata: {namespace: envoy.filters.http.jwt_authn, path: [payload, sub]}}]}',
  },
];

const policyText = (text: string): object => ({ key: 'x-coalesce-policy', value: text });

const policies: readonly DoctorCase[] = [
  {
    id: 'policy_refused',
    what: 'decide names a policy that there is not',
    change: (config) => config.insert([...decide, 'grpc_service', 'initial_metadata'], 1, policyText('carefull')),
    path: [...decide, 'grpc_service', 'initial_metadata', 1, 'value'],
    processor: 'policies: {careful: {}}',
  },
  {
    id: 'policy_refused',
    what: 'a route spells out a policy with a mistake',
    change: (config) => {
      const overrides = { grpc_initial_metadata: [policyText('{"samplin":"any"}')] };
      config.set([...route, 'typed_per_filter_config'], { 'coalesce.decide': { overrides } });
    },
    path: [...route, 'typed_per_filter_config', 'coalesce.decide', 'overrides', 'grpc_initial_metadata', 0, 'value'],
  },
  {
    id: 'max_message_timeout_short',
    what: 'the policy of a route waits for longer',
    change: (config) => {
      config.set([...deliver, 'max_message_timeout'], '1000s');
      const overrides = { grpc_initial_metadata: [policyText('{"deadlines":{"wait":"20m"}}')] };
      config.set([...route, 'typed_per_filter_config'], { 'coalesce.decide': { overrides } });
    },
    path: [...deliver, 'max_message_timeout'],
  },
];

const tokens: readonly DoctorCase[] = [
  {},
  { from_headers: [{ name: 'Authorization' }] },
  { payload_in_metadata: 'x' },
].map((provider) => ({
  id: 'token_taken',
  what: `jwt_authn verifies as ${JSON.stringify(provider)} says`,
  change: (config) => config.insert(chain, 0, httpFilter('jwt_authn', { providers: { ours: provider } })),
  path: [...chain, 0, 'typed_config', 'providers', 'ours', 'payload_in_metadata'],
}));

const neighbours: readonly DoctorCase[] = [
  inserted('filter_between', 1, httpFilter('header_mutation')),
  ...['rbac', 'jwt_authn', 'ext_authz', 'basic_auth', 'wasm', 'ext_proc'].map((kind) => {
    return inserted('must_see_every_caller', 2, httpFilter(kind));
  }),
  inserted('must_see_every_caller', 1, httpFilter('rbac')),
  ...['lua', 'golang'].map((kind) => inserted('code_behind', 2, httpFilter(kind))),
  inserted('compressor_behind', 2, httpFilter('compressor')),
  inserted('compressor_behind', 0, httpFilter('compressor'), [...egress, 'http_filters']),
  inserted(
    'per_user_limit_behind',
    2,
    httpFilter('local_ratelimit', { local_rate_limit_per_downstream_connection: true }),
  ),
  {
    ...inserted('per_user_limit_behind', 2, httpFilter('ratelimit')),
    change: (config) => {
      const perUser = { request_headers: { header_name: 'x-user', descriptor_key: 'user' } };
      config.insert(chain, 2, httpFilter('ratelimit'));
      config.set([...route, 'route', 'rate_limits'], [{ actions: [perUser] }]);
    },
  },
  {
    ...inserted('per_user_limit_behind', 2, httpFilter('ratelimit', { stage: 1 })),
    what: 'a limit of its stage counts users',
    change: (config) => {
      config.insert(chain, 2, httpFilter('ratelimit', { stage: 1 }));
      config.set([...route, 'route', 'rate_limits'], [{ stage: 1, actions: [{ remote_address: {} }] }]);
    },
  },
  {
    id: 'second_full_duplex',
    what: 'two more ext_proc filters in FULL_DUPLEX_STREAMED',
    change: (config) => {
      const mode = { processing_mode: { request_body_mode: 'FULL_DUPLEX_STREAMED' } };
      for (const _ of [1, 2]) config.insert(chain, 0, httpFilter('ext_proc', mode));
    },
    path: [...chain, 1, 'typed_config', 'processing_mode'],
  },
];

const perRoute = [...route, 'typed_per_filter_config'];

const routes: readonly DoctorCase[] = [
  ...['coalesce.decide', 'coalesce.deliver'].map((name) => ({
    ...setting('half_disabled', perRoute, { [name]: { disabled: true } }),
    path: [...perRoute, name],
  })),
  {
    id: 'half_disabled',
    what: 'a virtual host disables both and its route enables one',
    change: (config) => {
      const host = route.slice(0, -2);
      const off = { 'coalesce.decide': { disabled: true }, 'coalesce.deliver': { disabled: true } };
      config.set([...host, 'typed_per_filter_config'], off);
      config.set(perRoute, { 'coalesce.decide': { overrides: {} } });
    },
    path: [...route.slice(0, -2), 'typed_per_filter_config', 'coalesce.deliver'],
  },
  {
    ...setting('failing_closed', perRoute, { 'coalesce.decide': { overrides: { failure_mode_allow: false } } }),
    path: [...perRoute, 'coalesce.decide', 'overrides', 'failure_mode_allow'],
  },
  lacking('route_timeout', [...route, 'route', 'timeout']),
  setting('route_timeout', [...route, 'route', 'timeout'], '60s'),
  lacking('route_timeout', [...routeOf(egress), 'route', 'timeout']),
  {
    id: 'route_timeout_unsure',
    what: 'a route that may lead anywhere has the default timeout',
    change: (config) => {
      const other = { match: { prefix: '/team-a/' }, route: { cluster: 'llm' }, request_body_buffer_limit: 1048576 };
      config.insert(route.slice(0, -1), 0, other);
    },
    path: [...route, 'route', 'timeout'],
  },
  setting('stream_duration', [...ingress, 'common_http_protocol_options', 'max_stream_duration'], '60s'),
  setting('stream_duration', [...route, 'route', 'max_stream_duration', 'max_stream_duration'], '60s'),
  setting('request_bytes', [...route, 'request_body_buffer_limit'], 65_536),
  {
    ...lacking('request_bytes', [...route, 'request_body_buffer_limit']),
    processor: 'limits: {max_request_bytes: 2MiB}',
  },
  {
    id: 'request_bytes',
    what: 'the listener holds less',
    change: (config) => {
      config.remove([...route, 'request_body_buffer_limit']);
      config.set(['static_resources', 'listeners', 0, 'per_connection_buffer_limit_bytes'], 32_768);
    },
    path: ['static_resources', 'listeners', 0, 'per_connection_buffer_limit_bytes'],
  },
  {
    id: 'routes_unseen',
    what: 'routes come from a control plane',
    change: (config) => {
      config.remove([...ingress, 'route_config']);
      config.set([...ingress, 'rds'], { route_config_name: 'elsewhere' });
    },
    path: ingress,
  },
  lacking('idle_timeout', [...ingress, 'stream_idle_timeout']),
  setting('idle_timeout', [...egress, 'stream_idle_timeout'], '300s'),
  setting('idle_timeout', [...route, 'route', 'idle_timeout'], '60s'),
  lacking('delayed_close', [...ingress, 'delayed_close_timeout']),
  setting('delayed_close', [...egress, 'delayed_close_timeout'], '1s'),
];

const http2 = [...options, 'explicit_http_config', 'http2_protocol_options'];
const requests = [...options, 'common_http_protocol_options', 'max_requests_per_connection'];
const threshold = [...cluster, 'circuit_breakers', 'thresholds', 0];

const processorCluster: readonly DoctorCase[] = [
  {
    id: 'processor_open',
    what: 'the processor listens for anybody',
    change: () => undefined,
    path: cluster,
    processor: 'listen: [127.0.0.1:9002, 0.0.0.0:9002]\negress: http://127.0.0.1:10001\n',
  },
  {
    ...setting('processor_cluster_missing', [...cluster, 'name'], 'other'),
    path: [...deliver, 'grpc_service', 'envoy_grpc', 'cluster_name'],
  },
  {
    id: 'processor_google_grpc',
    what: 'decide calls by google_grpc',
    change: (config) => {
      config.remove([...decide, 'grpc_service', 'envoy_grpc']);
      config.set([...decide, 'grpc_service', 'google_grpc'], { target_uri: '127.0.0.1:9002', stat_prefix: 'c' });
    },
    path: [...decide, 'grpc_service', 'google_grpc'],
  },
  lacking('processor_not_http2', http2),
  lacking('processor_keepalive', [...http2, 'connection_keepalive']),
  lacking('processor_requests_per_connection', requests),
  setting('processor_requests_per_connection', requests, 1000),
  setting('processor_circuit_breaker', [...threshold, 'max_requests'], 1024),
  lacking('processor_circuit_breaker', [...threshold, 'max_requests']),
  lacking('processor_pending_limit', [...threshold, 'max_pending_requests']),
];

/** All cases that a file can have; `drain_time`, `envoy_too_old` and `envoy_vulnerable` need a running Envoy. */
export const doctorCases: readonly DoctorCase[] = [
  ...presence,
  ...filters,
  ...policies,
  ...tokens,
  ...neighbours,
  ...routes,
  ...processorCluster,
];
