/**
 * The cluster through which Envoy calls the processor.
 */
import { filtersOf, type Chain } from '../chain.ts';
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import { at, firstSet, isSet, items, numberOf, textAt, type Node } from '../node.ts';

/** Node closes a connection after 1,000 resets. */
const mostRequestsPerConnection = 900;
const defaultBreaker = 1024;
const httpOptions = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

export function checkProcessorClusters(
  chains: readonly Chain[],
  clusters: ReadonlyMap<string, Node>,
  expected: Expectations,
): Finding[] {
  const services = chains.flatMap(filtersOf).map(({ filter }) => at(filter.config, 'grpc_service'));
  const google = services.map((service) => at(service, 'google_grpc')).filter(isSet);
  const named = new Map(
    services.map((service) => at(service, 'envoy_grpc', 'cluster_name')).map((node) => [node.value, node]),
  );
  const findings = google.map((node) => found('processor_google_grpc', node));
  for (const [name, node] of named) {
    if (typeof name !== 'string') continue;
    const cluster = clusters.get(name);
    if (cluster === undefined) findings.push(found('processor_cluster_missing', node));
    else findings.push(...checkCluster(cluster), ...trust(cluster, expected));
  }
  return findings;
}

function checkCluster(cluster: Node): Finding[] {
  const options = at(cluster, 'typed_extension_protocol_options', httpOptions);
  return [...connection(cluster, options), ...http2(cluster, options), ...breaker(cluster)];
}

/** A Unix socket is plain, and protected by its folder. */
function trust(cluster: Node, { callers }: Expectations): Finding[] {
  if (callers === 'anybody') return [found('processor_open', cluster)];
  const place = at(cluster, 'transport_socket');
  const endpoint = at(cluster, 'load_assignment', 'endpoints', 0, 'lb_endpoints', 0, 'endpoint', 'address');
  const isPlain = !isSet(place) && !isSet(at(endpoint, 'pipe'));
  return callers === 'certified' && isPlain ? [found('processor_tls', place)] : [];
}

function connection(cluster: Node, options: Node): Finding[] {
  const field = 'max_requests_per_connection';
  const place = at(options, 'common_http_protocol_options', field);
  const olderPlaces = [at(cluster, 'common_http_protocol_options', field), at(cluster, field)];
  const chosen = [place, ...olderPlaces].find(isSet) ?? place;
  const most = numberOf(chosen) ?? 0;
  return most > 0 && most <= mostRequestsPerConnection ? [] : [found('processor_requests_per_connection', chosen)];
}

function http2(cluster: Node, options: Node): Finding[] {
  const explicit = at(options, 'explicit_http_config', 'http2_protocol_options');
  const places = [
    explicit,
    at(options, 'use_downstream_protocol_config', 'http2_protocol_options'),
    at(options, 'auto_config', 'http2_protocol_options'),
    at(cluster, 'http2_protocol_options'),
  ];
  const place = places.find(isSet);
  if (place === undefined) return [found('processor_not_http2', explicit)];
  const keepalive = at(place, 'connection_keepalive');
  return isSet(at(keepalive, 'interval')) ? [] : [found('processor_keepalive', keepalive)];
}

function breaker(cluster: Node): Finding[] {
  const thresholds = items(at(cluster, 'circuit_breakers', 'thresholds'));
  const forDefault = thresholds.find((one) => ['DEFAULT', null].includes(textAt(one, 'priority')));
  const place = forDefault ?? at(cluster, 'circuit_breakers', 'thresholds', 0);
  const isLow = (field: string): boolean => (numberOf(at(place, field)) ?? defaultBreaker) <= defaultBreaker;
  const findings: Finding[] = [];
  if (isLow('max_requests')) findings.push(found('processor_circuit_breaker', at(place, 'max_requests')));
  if (isLow('max_pending_requests'))
    findings.push(found('processor_pending_limit', firstSet(place, 'max_pending_requests')));
  return findings;
}
