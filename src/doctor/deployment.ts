/**
 * An Envoy configuration in whatever form it comes — a bootstrap file, a live `/config_dump`, or our own fragment to paste —
 * as what the checks look at: connection managers with their filters and routes, and clusters. Judges nothing.
 */
import { at, isSet, items, textAt, type Node } from './node.ts';
import { readFilter, type HttpFilter } from './http-filter.ts';

export interface ConnectionManager {
  /** Null for a fragment, which has none. */
  readonly listener: Node | null;
  readonly node: Node;
  readonly filterList: Node;
  readonly filters: readonly HttpFilter[];
  /** Null where its routes are not in the configuration. */
  readonly routeConfig: Node | null;
}

export interface Deployment {
  readonly root: Node;
  readonly managers: readonly ConnectionManager[];
  readonly clusters: ReadonlyMap<string, Node>;
}

/** Null where this is no Envoy configuration. */
export function readDeployment(value: unknown): Deployment | null {
  const root: Node = { path: [], value };
  if (isSet(at(root, 'configs'))) return deploymentOf(root, partsOfDump(root));
  if (isSet(at(root, 'http_filters'))) return fragment(root);
  if (!['static_resources', 'dynamic_resources'].some((field) => isSet(at(root, field)))) return null;
  const resources = at(root, 'static_resources');
  const parts = { listeners: items(at(resources, 'listeners')), clusters: items(at(resources, 'clusters')) };
  return deploymentOf(root, { ...parts, routeConfigs: [], filters: [] });
}

interface Parts {
  readonly listeners: readonly Node[];
  readonly clusters: readonly Node[];
  readonly routeConfigs: readonly Node[];
  /** Filters that are delivered by themselves (ECDS). */
  readonly filters: readonly Node[];
}

function deploymentOf(root: Node, parts: Parts): Deployment {
  const managers = parts.listeners.flatMap((listener) => managersOf(listener, parts));
  return { root, managers, clusters: byName(parts.clusters) };
}

function fragment(root: Node): Deployment {
  const filterList = at(root, 'http_filters');
  const filters = items(filterList).map((node) => readFilter(node, new Map()));
  const manager = { listener: null, node: root, filterList, filters, routeConfig: null };
  return { root, managers: [manager], clusters: byName(items(at(root, 'clusters'))) };
}

function managersOf(listener: Node, parts: Parts): ConnectionManager[] {
  const chains = [...items(at(listener, 'filter_chains')), at(listener, 'default_filter_chain')];
  const filters = chains.flatMap((chain) => items(at(chain, 'filters'))).map((filter) => at(filter, 'typed_config'));
  const isManager = (node: Node): boolean => textAt(node, '@type')?.endsWith('.HttpConnectionManager') ?? false;
  return filters.filter(isManager).map((node) => {
    const filterList = at(node, 'http_filters');
    const delivered = byName(parts.filters);
    const httpFilters = items(filterList).map((filter) => readFilter(filter, delivered));
    return { listener, node, filterList, filters: httpFilters, routeConfig: routeConfigOf(node, parts) };
  });
}

function routeConfigOf(manager: Node, { routeConfigs }: Parts): Node | null {
  const own = at(manager, 'route_config');
  if (isSet(own)) return own;
  const wanted = textAt(manager, 'rds', 'route_config_name');
  return wanted === null ? null : (byName(routeConfigs).get(wanted) ?? null);
}

/** `/config_dump`: one section per kind of resource, each with those of the file and those of a control plane. */
function partsOfDump(root: Node): Parts {
  const sections = items(at(root, 'configs'));
  const from = (kind: string, lists: readonly string[], steps: readonly string[]): Node[] => {
    const chosen = sections.filter((section) => textAt(section, '@type')?.endsWith(`.${kind}`));
    const entries = chosen.flatMap((section) => lists.flatMap((list) => items(at(section, list))));
    return entries.map((entry) => at(entry, ...steps)).filter(isSet);
  };
  return {
    listeners: [
      ...from('ListenersConfigDump', ['static_listeners'], ['listener']),
      ...from('ListenersConfigDump', ['dynamic_listeners'], ['active_state', 'listener']),
    ],
    clusters: from(
      'ClustersConfigDump',
      ['static_clusters', 'dynamic_active_clusters', 'dynamic_warming_clusters'],
      ['cluster'],
    ),
    routeConfigs: from('RoutesConfigDump', ['static_route_configs', 'dynamic_route_configs'], ['route_config']),
    filters: from('EcdsConfigDump', ['ecds_filters'], ['ecds_filter']),
  };
}

function byName(nodes: readonly Node[]): ReadonlyMap<string, Node> {
  return new Map(
    nodes.flatMap((node) => {
      const name = textAt(node, 'name');
      return name === null ? [] : [[name, node] as const];
    }),
  );
}
