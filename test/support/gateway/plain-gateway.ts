/**
 * A gateway as somebody has one who does not know us: tokens are verified, users and the upstream have their limits, the
 * upstream's key is added on the way. And the steps of the README that attach the coalescer to it.
 */
import { parse } from 'yaml';
import { connectionManager, type EnvoyConfig, type HttpFilter, type Listener } from '../../../harness/stack.ts';
import { readShipped } from '../deployed.ts';
import { fencesOf } from '../documents.ts';
import type { Issuer } from '../jwt-issuer.ts';

export type Ports = { readonly llm: number; readonly limits: number };

const type = 'type.googleapis.com/envoy.extensions';

/** The whole configuration, as its owner wrote it. */
export function plainGateway(issuer: Issuer, ports: Ports): EnvoyConfig {
  return parse(`
admin:
  address: { socket_address: { address: 127.0.0.1, port_value: 0 } }
static_resources:
  listeners:
    - name: ingress
      address: { socket_address: { address: 127.0.0.1, port_value: 0 } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                '@type': ${type}.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: gateway
                access_log:
                  - name: envoy.access_loggers.stdout
                    typed_config:
                      '@type': ${type}.access_loggers.stream.v3.StdoutAccessLog
                      log_format:
                        json_format: { listener: ingress, request_id: '%REQ(X-REQUEST-ID)%', upstream: '%UPSTREAM_HOST%' }
                route_config:
                  name: gateway
                  virtual_hosts:
                    - name: gateway
                      domains: ['*']
                      # Behind both limits, since the router does it: callers never see this key.
                      request_headers_to_add: [{ header: { key: authorization, value: Bearer of-the-gateway } }]
                      routes:
                        - match: { prefix: /solo/ }
                          route: &limited
                            cluster: llm
                            rate_limits:
                              - stage: 0
                                actions:
                                  - metadata:
                                      descriptor_key: user
                                      metadata_key:
                                        { key: envoy.filters.http.jwt_authn, path: [{ key: payload }, { key: sub }] }
                              - { stage: 1, actions: [{ generic_key: { descriptor_key: upstream, descriptor_value: llm } }] }
                        - match: { prefix: / }
                          route: *limited
                http_filters:
                  - name: envoy.filters.http.jwt_authn
                    typed_config:
                      '@type': ${type}.filters.http.jwt_authn.v3.JwtAuthentication
                      providers:
                        ours:
                          issuer: ${issuer.name}
                          local_jwks: { inline_string: '${issuer.keySet}' }
                          payload_in_metadata: payload
                      rules: [{ match: { prefix: / }, requires: { provider_name: ours } }]
                  - ${limit('users', 0)}
                  - ${limit('upstream', 1)}
                  - name: envoy.filters.http.router
                    typed_config: { '@type': ${type}.filters.http.router.v3.Router }
  clusters:
    - ${cluster('llm', ports.llm)}
    - ${cluster('limits', ports.limits, 'http2_protocol_options: {}')}
`) as EnvoyConfig;
}

function limit(name: string, stage: number): string {
  const service = `{ grpc_service: { envoy_grpc: { cluster_name: limits } }, transport_api_version: V3 }`;
  const config = `'@type': ${type}.filters.http.ratelimit.v3.RateLimit, domain: gateway, stage: ${stage}`;
  return `{ name: limit.${name}, typed_config: { ${config}, timeout: 5s, rate_limit_service: ${service} } }`;
}

function cluster(name: string, port: number, protocol = 'http_protocol_options: {}'): string {
  const http = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  const options = `{ '@type': ${type}.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: { ${protocol} } }`;
  const address = `{ socket_address: { address: 127.0.0.1, port_value: ${port} } }`;
  const endpoints = `[{ lb_endpoints: [{ endpoint: { address: ${address} } }] }]`;
  const places = `load_assignment: { cluster_name: ${name}, endpoints: ${endpoints} }`;
  return `{ name: ${name}, type: STATIC, typed_extension_protocol_options: { ${http}: ${options} }, ${places} }`;
}

type Fragment = Pick<EnvoyConfig['static_resources'], 'clusters'> & { http_filters: HttpFilter[] };

/** Step 2: the fragment, its filters behind what must see every caller and before the upstream's limit. */
export function pasteFragment(config: EnvoyConfig, { shadow }: { shadow: boolean }): void {
  const text = readShipped('envoy/http-filters.yaml');
  const lines = text.split('\n').filter((line) => shadow || !line.includes('key: x-coalesce-policy'));
  const fragment = parse(lines.join('\n')) as Fragment;
  const { http_filters } = connectionManager(config, 'ingress');
  const upstreamLimit = http_filters.findIndex(({ name }) => name === 'limit.upstream');
  http_filters.splice(upstreamLimit, 0, ...fragment.http_filters);
  config.static_resources.clusters.push(...fragment.clusters);
}

/** Step 3: what the README says of the connection manager, of routes to models and of the access log. */
export function followTheReadme(config: EnvoyConfig): void {
  const [ofManager, ofRoute] = blocksOfStep3();
  const manager = connectionManager(config, 'ingress');
  Object.assign(manager, ofManager);
  for (const [index, route] of (manager.route_config.virtual_hosts[0]?.routes ?? []).entries()) {
    const { route: action, ...others } = ofRoute;
    Object.assign(route, others, index === 0 ? { name: 'solo' } : {});
    route['route'] = { ...(route['route'] as object), ...action };
  }
  const [log] = manager['access_log'] as Array<{ typed_config: { log_format: { json_format: object } } }>;
  if (log === undefined) throw new Error('the gateway has no access log');
  Object.assign(log.typed_config.log_format.json_format, {
    outcome: '%DYNAMIC_METADATA(coalesce:outcome)%',
    reason: '%DYNAMIC_METADATA(coalesce:reason)%',
    would: '%DYNAMIC_METADATA(coalesce:would)%',
  });
}

type Block = Record<string, object>;

/** The two blocks of YAML that a reader copies. */
function blocksOfStep3(): readonly [manager: Block, route: Block] {
  const readme = readShipped('README.md');
  const attach = readme.slice(readme.indexOf('## Attach it'));
  const yaml = fencesOf(attach).filter(({ kind }) => kind === 'yaml');
  const [manager, route] = yaml.map(({ lines }) => parse(lines.join('\n')) as Block);
  if (manager === undefined || route === undefined) throw new Error('the README has no two blocks of YAML there');
  return [manager, route];
}

/** jwt_authn as it is without a thought for who reads its claims. */
export function forgetClaims(config: EnvoyConfig): void {
  const [jwt] = connectionManager(config, 'ingress').http_filters;
  if (jwt === undefined) throw new Error('the gateway has no filter');
  const { ours } = jwt.typed_config['providers'] as { ours: { payload_in_metadata?: string } };
  delete ours.payload_in_metadata;
}

/** "To opt a route out": both filters. */
export function disableOnSolo(config: EnvoyConfig): void {
  const [host] = connectionManager(config, 'ingress').route_config.virtual_hosts;
  const off = { '@type': `${type}.filters.http.ext_proc.v3.ExtProcPerRoute`, disabled: true };
  Object.assign(host?.routes[0] ?? {}, {
    typed_per_filter_config: { 'coalesce.decide': off, 'coalesce.deliver': off },
  });
}

/** The detached leg: the shipped egress listener, with what belongs to the one call: the upstream’s limit and its key. */
export function addEgress(config: EnvoyConfig, egress: Listener): void {
  const ingress = connectionManager(config, 'ingress');
  config.static_resources.listeners.push(egress);
  const own = connectionManager(config, 'egress');
  const limitOf = ({ name }: HttpFilter): boolean => name === 'limit.upstream';
  own.http_filters.unshift(...ingress.http_filters.filter(limitOf));
  const [from, to] = [ingress.route_config.virtual_hosts[0], own.route_config.virtual_hosts[0]];
  const [first] = from?.routes ?? [];
  if (to === undefined || first === undefined) throw new Error('a listener has no virtual host, or no route');
  to['request_headers_to_add'] = from?.['request_headers_to_add'];
  const { rate_limits } = first['route'] as { rate_limits: Array<{ stage: number }> };
  for (const route of to.routes)
    Object.assign(route['route'] as object, { rate_limits: rate_limits.filter(({ stage }) => stage === 1) });
}
