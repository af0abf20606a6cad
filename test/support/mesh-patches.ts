/**
 * What a mesh makes of our patches, as far as they use it: Istio's EnvoyFilter, and of Envoy Gateway the EnvoyPatchPolicy and
 * the EnvoyExtensionPolicy. Each changes an Envoy configuration in place, as the control plane changes its own.
 */
import { type Cluster, connectionManager, type EnvoyConfig, type HttpFilter, type Route } from '../../harness/stack.ts';

type IstioPatch = {
  readonly applyTo: string;
  readonly match: { readonly context: string; readonly listener?: { readonly filterChain: unknown } };
  readonly patch: { readonly operation: string; readonly value: unknown };
};

type EnvoyGatewayPatch = {
  readonly type: string;
  readonly operation: {
    readonly op: string;
    readonly path?: string;
    readonly jsonPath?: string;
    readonly value: unknown;
  };
};

/** One `extProc` of an EnvoyExtensionPolicy. */
export type ExtProc = {
  readonly failOpen?: boolean;
  readonly messageTimeout?: string;
  readonly processingMode?: {
    readonly allowModeOverride?: boolean;
    readonly request?: { readonly attributes?: string[] };
    readonly response?: object;
  };
  readonly metadata?: { readonly accessibleNamespaces?: string[]; readonly writableNamespaces?: string[] };
  readonly backendSettings: {
    readonly circuitBreaker: Readonly<Record<string, number>>;
    readonly http2: { readonly connectionKeepalive: { readonly interval: string; readonly timeout: string } };
  };
};

const routerName = 'envoy.filters.http.router';
const httpProtocolOptions = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** Carries out an EnvoyFilter's patches. Throws at one of another kind than ours. */
export function applyEnvoyFilter(config: EnvoyConfig, patches: readonly IstioPatch[]): void {
  for (const { applyTo, match, patch } of patches) {
    if (match.context !== 'GATEWAY') throw new Error(`context ${match.context}`);
    switch (`${applyTo} ${patch.operation}`) {
      case 'HTTP_FILTER INSERT_BEFORE':
        if (!JSON.stringify(match.listener?.filterChain).includes(routerName)) throw new Error('not before the router');
        insertBeforeRouter(config, patch.value as HttpFilter);
        break;
      case 'HTTP_ROUTE MERGE':
        for (const route of routesOf(config)) Object.assign(route, patch.value);
        break;
      case 'CLUSTER ADD':
        config.static_resources.clusters.push(patch.value as Cluster);
        break;
      default:
        throw new Error(`${applyTo} ${patch.operation}`);
    }
  }
}

/** Carries out an EnvoyPatchPolicy's patches. Throws at one of another kind than ours. */
export function applyPatchPolicy(config: EnvoyConfig, patches: readonly EnvoyGatewayPatch[]): void {
  for (const { type, operation } of patches) {
    if (operation.op !== 'add') throw new Error(operation.op);
    if (type.endsWith('.Cluster') && operation.path === '')
      config.static_resources.clusters.push(operation.value as Cluster);
    else if (operation.jsonPath === `..http_filters[?(@.name=='${routerName}')]`)
      // `add` at an element of a list inserts before it.
      insertBeforeRouter(config, operation.value as HttpFilter);
    else throw new Error(JSON.stringify(operation));
  }
}

/**
 * The filters and the clusters that Envoy Gateway makes of an EnvoyExtensionPolicy: each filter has a cluster of its own, and
 * is disabled but for the routes that the policy is for.
 */
export function applyExtensionPolicy(config: EnvoyConfig, extProcs: readonly ExtProc[], processor: Cluster): void {
  for (const [index, extProc] of extProcs.entries()) {
    const cluster = `envoyextensionpolicy/default/coalescer/extproc/${index}`;
    const name = `envoy.filters.http.ext_proc/${cluster}`;
    const filter = { name, disabled: true, typed_config: filterOf(extProc, cluster) };
    insertBeforeRouter(config, filter);
    for (const route of routesOf(config)) enableFilter(route, name);
    config.static_resources.clusters.push(clusterOf(extProc, { ...processor, name: cluster }));
  }
}

function enableFilter(route: Route, name: string): void {
  const enabled = { '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', config: {} };
  route['typed_per_filter_config'] = { ...(route['typed_per_filter_config'] as object), [name]: enabled };
}

function filterOf(
  { failOpen, messageTimeout, processingMode, metadata }: ExtProc,
  cluster: string,
): HttpFilter['typed_config'] {
  return {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor',
    grpc_service: { envoy_grpc: { cluster_name: cluster, authority: 'coalescer.llm-gateway:9002' }, timeout: '10s' },
    failure_mode_allow: failOpen ?? false,
    ...(messageTimeout === undefined ? {} : { message_timeout: messageTimeout }),
    allow_mode_override: processingMode?.allowModeOverride ?? false,
    processing_mode: {
      request_header_mode: processingMode?.request === undefined ? 'SKIP' : 'SEND',
      response_header_mode: processingMode?.response === undefined ? 'SKIP' : 'SEND',
      request_trailer_mode: 'SKIP',
      response_trailer_mode: 'SKIP',
    },
    request_attributes: processingMode?.request?.attributes ?? [],
    metadata_options: {
      forwarding_namespaces: { untyped: metadata?.accessibleNamespaces ?? [] },
      receiving_namespaces: { untyped: metadata?.writableNamespaces ?? [] },
    },
  };
}

function clusterOf({ backendSettings }: ExtProc, cluster: Cluster): Cluster {
  const { maxConnections, maxPendingRequests, maxParallelRequests, maxRequestsPerConnection } =
    backendSettings.circuitBreaker;
  return {
    ...cluster,
    circuit_breakers: {
      thresholds: [
        {
          max_connections: maxConnections,
          max_pending_requests: maxPendingRequests,
          max_requests: maxParallelRequests,
        },
      ],
    },
    typed_extension_protocol_options: {
      [httpProtocolOptions]: {
        '@type': `type.googleapis.com/${httpProtocolOptions}`,
        common_http_protocol_options: { max_requests_per_connection: maxRequestsPerConnection },
        explicit_http_config: {
          http2_protocol_options: { connection_keepalive: backendSettings.http2.connectionKeepalive },
        },
      },
    },
    load_assignment: { ...cluster.load_assignment, cluster_name: cluster.name },
  };
}

function insertBeforeRouter(config: EnvoyConfig, filter: HttpFilter): void {
  const { http_filters } = connectionManager(config, 'ingress');
  const at = http_filters.findIndex(({ name }) => name === routerName);
  if (at === -1) throw new Error('no router');
  http_filters.splice(at, 0, filter);
}

function routesOf(config: EnvoyConfig): Route[] {
  return connectionManager(config, 'ingress').route_config.virtual_hosts.flatMap(({ routes }) => routes);
}
