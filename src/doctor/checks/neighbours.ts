/**
 * The filters around the two: who stands between them, who stands behind and should not, who shares a chain badly.
 */
import { readChain, type Chain } from '../chain.ts';
import type { FindingId } from '../catalogue.ts';
import type { ConnectionManager } from '../deployment.ts';
import { found, type Finding } from '../finding.ts';
import type { HttpFilter } from '../http-filter.ts';
import { at, isTrueAt, items, members, numberOf, textAt, type Node } from '../node.ts';

/** Kinds that judge a caller, so that one who is not shown to them is not judged. */
const judges = new Set([
  'rbac',
  'jwt_authn',
  'ext_authz',
  'basic_auth',
  'api_key_auth',
  'oauth2',
  'csrf',
  'wasm',
  'ext_proc',
]);
/** Kinds that may do anything. */
const code = new Set(['lua', 'golang', 'dynamic_modules', 'composite']);
const limits = new Set(['ratelimit', 'local_ratelimit', 'rate_limit_quota']);

export function checkNeighbours(chain: Chain): Finding[] {
  return [...order(chain), ...behind(chain), ...fullDuplex(chain)];
}

/** The egress carries shared answers too: one call, many readers. */
export function checkEgressFilters({ filters }: ConnectionManager): Finding[] {
  return filters.filter(({ kind }) => kind === 'compressor').map(({ node }) => found('compressor_behind', node));
}

function order({ manager, decide, deliver }: Chain): Finding[] {
  if (decide === null) return [found('decide_missing', manager.filterList)];
  if (deliver === null) return [found('deliver_missing', manager.filterList)];
  if (deliver.index < decide.index) return [found('filter_order', deliver.filter.node)];
  const between = manager.filters.slice(decide.index + 1, deliver.index);
  return between.filter(({ kind }) => problemOf(kind) === null).map(({ node }) => found('filter_between', node));
}

function behind(chain: Chain): Finding[] {
  const first = chain.decide?.index ?? chain.behind - 1;
  const ours = new Set([chain.decide?.filter, chain.deliver?.filter]);
  const others = chain.manager.filters.slice(first + 1).filter((filter) => !ours.has(filter));
  return others.flatMap((filter) => {
    const problem = problemOf(filter.kind);
    if (problem !== null) return [found(problem, filter.node)];
    return limits.has(filter.kind) && countsCallers(filter, chain.manager)
      ? [found('per_user_limit_behind', filter.node)]
      : [];
  });
}

function problemOf(kind: string): FindingId | null {
  if (kind === 'compressor') return 'compressor_behind';
  if (judges.has(kind)) return 'must_see_every_caller';
  return code.has(kind) ? 'code_behind' : null;
}

/** A limit on the upstream belongs behind; one whose descriptors tell callers apart does not. */
function countsCallers({ config, name }: HttpFilter, { routeConfig }: ConnectionManager): boolean {
  if (isTrueAt(config, 'local_rate_limit_per_downstream_connection')) return true;
  const hosts = routeConfig === null ? [] : items(at(routeConfig, 'virtual_hosts'));
  const levels = hosts.flatMap((host) => [host, ...items(at(host, 'routes'))]);
  const ofItsOwn = [config, ...levels.map((level) => at(level, 'typed_per_filter_config', name))].flatMap(rateLimits);
  // Those of hosts and routes are for the filters of their stage; where nothing is said, that is 0 on both sides.
  const ofItsStage = levels
    .flatMap((level) => [level, at(level, 'route')].flatMap(rateLimits))
    .filter((limit) => stageOf(limit) === stageOf(config));
  return [...ofItsOwn, ...ofItsStage].flatMap((limit) => items(at(limit, 'actions'))).some(tellsCallersApart);
}

function rateLimits(place: Node): Node[] {
  return items(at(place, 'rate_limits'));
}

function stageOf(node: Node): number {
  return numberOf(at(node, 'stage')) ?? 0;
}

const callerActions = ['remote_address', 'masked_remote_address', 'metadata', 'dynamic_metadata'];

function tellsCallersApart(action: Node): boolean {
  const kinds = members(action).map(([name]) => name);
  if (kinds.some((kind) => callerActions.includes(kind))) return true;
  const header = textAt(action, 'request_headers', 'header_name');
  return header !== null && !header.startsWith(':') && !/model|version|region/i.test(header);
}

function fullDuplex({ manager }: Chain): Finding[] {
  const streamed = manager.filters.filter((filter) => filter.kind === 'ext_proc' && isFullDuplex(filter));
  return streamed.slice(1).map(({ config }) => found('second_full_duplex', at(config, 'processing_mode')));
}

function isFullDuplex({ config }: HttpFilter): boolean {
  const modes = ['request_body_mode', 'response_body_mode'].map((field) => textAt(config, 'processing_mode', field));
  return modes.includes('FULL_DUPLEX_STREAMED');
}

/** Whether this chain is an egress: none of ours in it, and it is where the processor's own calls arrive. */
export function isEgress(manager: ConnectionManager, egressPort: number | null): boolean {
  if (readChain(manager) !== null || manager.listener === null) return false;
  const port = at(manager.listener, 'address', 'socket_address', 'port_value').value;
  return (egressPort !== null && port === egressPort) || stripsOurMark(manager);
}

function stripsOurMark({ routeConfig }: ConnectionManager): boolean {
  if (routeConfig === null) return false;
  const hosts = items(at(routeConfig, 'virtual_hosts'));
  const places = [routeConfig, ...hosts, ...hosts.flatMap((host) => items(at(host, 'routes')))];
  return places.some((place) => {
    return items(at(place, 'request_headers_to_remove')).some(({ value }) => value === 'x-coalesce-flight');
  });
}
