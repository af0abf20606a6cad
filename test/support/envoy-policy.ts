/** Changes to the shipped Envoy configuration that choose a policy: for the whole filter, or for a route. */
import { connectionManager, type EnvoyConfig, type Route } from '../../harness/stack.ts';

const perRoute = 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute';

/** Gives decide and deliver an inline policy by gRPC initial metadata. */
export function withInlinePolicy(policy: string): (config: EnvoyConfig) => void {
  return (config) => {
    for (const service of grpcServices(config))
      service.initial_metadata.push({ key: 'x-coalesce-policy', value: policy });
  };
}

/** Adds a route in front of the others, for a path prefix, whose filters are as `overrides` says. */
export function withRoute(prefix: string, overrides: Record<string, unknown>): (config: EnvoyConfig) => void {
  return (config) => {
    const routes = connectionManager(config, 'ingress').route_config.virtual_hosts[0]?.routes ?? [];
    const filter = { '@type': perRoute, ...overrides };
    const typed_per_filter_config = { 'coalesce.decide': filter, 'coalesce.deliver': filter };
    routes.unshift({ ...firstOf(routes), name: 'other', match: { prefix }, typed_per_filter_config });
  };
}

type GrpcService = { initial_metadata: Array<{ key: string; value: string }> };
type ExternalProcessor = { grpc_service: GrpcService };

function grpcServices(config: EnvoyConfig): GrpcService[] {
  return connectionManager(config, 'ingress')
    .http_filters.filter(({ name }) => name.startsWith('coalesce.'))
    .map(({ typed_config }) => {
      const wrapped = typed_config['extension_config'] as { typed_config: ExternalProcessor } | undefined;
      return (wrapped?.typed_config ?? (typed_config as ExternalProcessor)).grpc_service;
    });
}

function firstOf(routes: readonly Route[]): Route {
  const [route] = routes;
  if (route === undefined) throw new Error('the ingress has no route');
  return route;
}
