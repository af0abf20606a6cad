/**
 * The shipped Envoy configurations, read as they are and given free ports. What tests run is what operators copy: here
 * only addresses change.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { repositoryRoot } from '../root.ts';

/** How a flight gets its answer. */
export type Leg = 'attached' | 'detached';

type SocketAddress = { address: string; port_value: number };

export type HttpFilter = { name: string; typed_config: Record<string, unknown> };
export type Route = { name?: string; match: Record<string, unknown>; [member: string]: unknown };
export type VirtualHost = { name: string; domains: string[]; routes: Route[]; [member: string]: unknown };
export type HttpConnectionManager = {
  http_filters: HttpFilter[];
  route_config: { virtual_hosts: VirtualHost[]; [member: string]: unknown };
  [member: string]: unknown;
};
export type Listener = {
  name: string;
  address: { socket_address: SocketAddress };
  filter_chains: Array<{ filters: Array<{ name: string; typed_config: HttpConnectionManager }> }>;
  [member: string]: unknown;
};
export type Cluster = {
  name: string;
  load_assignment: {
    cluster_name: string;
    endpoints: Array<{ lb_endpoints: Array<{ endpoint: { address: { socket_address: SocketAddress } } }> }>;
  };
  [member: string]: unknown;
};

/** The part of Envoy's bootstrap that the shipped files have. */
export type EnvoyConfig = {
  admin: { address: { socket_address: SocketAddress } };
  static_resources: { listeners: Listener[]; clusters: Cluster[] };
  [member: string]: unknown;
};

/** The shipped Envoy configuration of a leg. */
export async function shippedEnvoyConfig(leg: Leg): Promise<EnvoyConfig> {
  return (await readShipped(leg === 'attached' ? 'envoy.attached.yaml' : 'envoy.yaml')) as EnvoyConfig;
}

/** The shipped processor configuration of a leg. */
export async function shippedProcessorConfig(leg: Leg): Promise<Record<string, unknown>> {
  const file = leg === 'attached' ? 'coalescer.attached.yaml' : 'coalescer.yaml';
  return (await readShipped(file)) as Record<string, unknown>;
}

/** Lets Envoy choose its own ports, and points its clusters at these. */
export function replacePorts(config: EnvoyConfig, ports: { llm: number; coalescer: number }): void {
  config.admin.address.socket_address.port_value = 0;
  for (const listener of config.static_resources.listeners) listener.address.socket_address.port_value = 0;
  setClusterPort(config, 'llm', ports.llm);
  setClusterPort(config, 'coalescer', ports.coalescer);
}

/** The connection manager of a listener, to change. */
export function connectionManager(config: EnvoyConfig, listener: 'ingress' | 'egress'): HttpConnectionManager {
  const found = config.static_resources.listeners.find(({ name }) => name === listener);
  const manager = found?.filter_chains[0]?.filters[0]?.typed_config;
  if (manager === undefined) throw new Error(`the Envoy configuration has no listener ${listener}`);
  return manager;
}

/** A cluster, to change. */
export function clusterNamed(config: EnvoyConfig, name: string): Cluster {
  const found = config.static_resources.clusters.find((cluster) => cluster.name === name);
  if (found === undefined) throw new Error(`the Envoy configuration has no cluster ${name}`);
  return found;
}

/** Takes both filters out: what is left is the same Envoy without us. */
export function removeFilters(config: EnvoyConfig): void {
  const manager = connectionManager(config, 'ingress');
  manager.http_filters = manager.http_filters.filter(({ name }) => !name.startsWith('coalesce.'));
}

/** Sets the port of a cluster's only endpoint. */
export function setClusterPort(config: EnvoyConfig, name: string, port: number): void {
  const endpoint = clusterNamed(config, name).load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint;
  if (endpoint === undefined) throw new Error(`cluster ${name} has no endpoint`);
  endpoint.address.socket_address.port_value = port;
}

async function readShipped(file: string): Promise<unknown> {
  return parse(await readFile(join(repositoryRoot, 'envoy', file), 'utf8')) as unknown;
}
