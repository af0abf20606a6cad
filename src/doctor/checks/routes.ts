/**
 * The routes of a chain: where it is on, for how long an answer may stream, how large a request may be.
 */
import { filtersOf, type Chain, type OurFilter } from '../chain.ts';
import type { ConnectionManager } from '../deployment.ts';
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import { at, durationOf, firstSet, isSet, isTrueAt, items, numberOf, type Node } from '../node.ts';
import { modelPath, type ModelPath } from './model-path.ts';

const defaultBufferBytes = 2 ** 20;
const defaultIdleMs = 300_000;

/** One route, with what stands around it: route configuration, virtual host, itself. */
interface Placed {
  readonly levels: readonly Node[];
  readonly route: Node;
  readonly leads: ModelPath;
}

export function checkRoutes(chain: Chain, expected: Expectations): Finding[] {
  const { manager } = chain;
  if (manager.routeConfig === null) return manager.listener === null ? [] : [found('routes_unseen', manager.node)];
  const routes = placedRoutes(manager.routeConfig);
  const enabled = routes.filter((placed) => filtersOf(chain).some((ours) => isOn(ours, placed)));
  return [
    ...routes.flatMap((placed) => halfDisabled(chain, placed)),
    ...routes.flatMap((placed) => filtersOf(chain).flatMap((ours) => closedByRoute(ours, placed))),
    ...enabled.flatMap((placed) => [...lifetime(placed, expected), ...idle(placed, manager, expected.silenceMs)]),
    ...enabled.flatMap((placed) => buffer(placed, manager, expected)),
  ];
}

/** The routes on which the processor's own calls go to the upstream. */
export function checkEgressRoutes(manager: ConnectionManager, expected: Expectations): Finding[] {
  const { routeConfig } = manager;
  if (routeConfig === null) return [found('routes_unseen', manager.node)];
  return placedRoutes(routeConfig).flatMap((placed) => [
    ...lifetime(placed, expected),
    ...idle(placed, manager, expected.silenceMs),
  ]);
}

/** Routes that may lead to a model: they go to a cluster, on a path and method that an LLM call can have. */
function placedRoutes(routeConfig: Node): Placed[] {
  return items(at(routeConfig, 'virtual_hosts')).flatMap((host) => {
    const routes = items(at(host, 'routes')).filter((route) => isSet(at(route, 'route')));
    return routes.flatMap((route) => {
      const leads = modelPath(at(route, 'match'));
      return leads === 'no' ? [] : [{ levels: [routeConfig, host, route], route, leads }];
    });
  });
}

type Switch = { readonly isOn: boolean; readonly node: Node };

/** What the most specific level says about a filter; null where none does. */
function switchOf({ filter }: OurFilter, { levels }: Placed): Switch | null {
  const said = levels.map((level) => at(level, 'typed_per_filter_config', filter.name)).filter(isSet);
  const last = said.at(-1);
  return last === undefined ? null : { isOn: !isTrueAt(last, 'disabled'), node: last };
}

function isOn(ours: OurFilter, placed: Placed): boolean {
  return switchOf(ours, placed)?.isOn ?? !ours.filter.isOff;
}

function halfDisabled({ decide, deliver }: Chain, placed: Placed): Finding[] {
  if (decide === null || deliver === null || isOn(decide, placed) === isOn(deliver, placed)) return [];
  const off = isOn(decide, placed) ? deliver : decide;
  const node = switchOf(off, placed)?.node ?? off.filter.node;
  const other = off === decide ? deliver : decide;
  return [found('half_disabled', node, `disable ${other.filter.name} here too, or neither`)];
}

function closedByRoute(ours: OurFilter, placed: Placed): Finding[] {
  const said = switchOf(ours, placed);
  if (said === null) return [];
  const place = at(said.node, 'overrides', 'failure_mode_allow');
  return place.value === false ? [found('failing_closed', place)] : [];
}

function lifetime({ route, leads }: Placed, { totalMs }: Expectations): Finding[] {
  const findings: Finding[] = [];
  const timeout = at(route, 'route', 'timeout');
  if (durationOf(timeout) !== 0)
    findings.push(found(leads === 'yes' ? 'route_timeout' : 'route_timeout_unsure', timeout));
  const most = at(route, 'route', 'max_stream_duration', 'max_stream_duration');
  const mostMs = durationOf(most) ?? 0;
  if (mostMs > 0 && mostMs < totalMs) findings.push(found('stream_duration', most));
  return findings;
}

function idle({ route }: Placed, manager: ConnectionManager, silenceMs: number): Finding[] {
  const own = at(route, 'route', 'idle_timeout');
  const general = at(manager.node, 'stream_idle_timeout');
  const place = isSet(own) ? own : general;
  const idleMs = durationOf(place) ?? defaultIdleMs;
  if (idleMs === 0 || idleMs > silenceMs) return [];
  const fix = `${isSet(own) ? 'idle_timeout' : 'stream_idle_timeout'}: 3600s (over the processor’s deadlines: ${silenceMs / 1000}s)`;
  return [found('idle_timeout', place, fix)];
}

function buffer({ levels, route }: Placed, manager: ConnectionManager, { maxRequestBytes }: Expectations): Finding[] {
  const fields = ['request_body_buffer_limit', 'per_request_buffer_limit_bytes'] as const;
  const ofRoutes = levels.map((level) => firstSet(level, ...fields)).filter(isSet);
  const place = ofRoutes.at(-1) ?? at(manager.listener ?? manager.node, 'per_connection_buffer_limit_bytes');
  if ((numberOf(place) ?? defaultBufferBytes) >= maxRequestBytes) return [];
  const shown = isSet(place) ? place : at(route, 'request_body_buffer_limit');
  return [found('request_bytes', shown, `request_body_buffer_limit: ${maxRequestBytes} (limits.max_request_bytes)`)];
}
