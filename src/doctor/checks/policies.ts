/**
 * The policies that Envoy's own configuration names or spells out, on a filter or on a route. What each means is the
 * processor's to say.
 */
import type { Policy } from '../../coalesce/request/policy.ts';
import type { Config } from '../../config/definition.ts';
import { policyBook } from '../../config/inline-policy.ts';
import { filtersOf, type Chain } from '../chain.ts';
import { found, type Finding } from '../finding.ts';
import { at, items, textAt, type Node } from '../node.ts';

const policyKey = 'x-coalesce-policy';

export interface NamedByEnvoy {
  readonly policies: readonly Policy[];
  readonly findings: readonly Finding[];
}

export function readPolicies(chains: readonly Chain[], config: Config): NamedByEnvoy {
  const read = policyBook(config.policy, config.policies);
  const policies: Policy[] = [];
  const findings: Finding[] = [];
  for (const node of chains.flatMap(policyTexts)) {
    const result = read(String(node.value));
    if (result.kind === 'policy') policies.push(result.policy);
    else findings.push(found('policy_refused', node, `mend it: ${result.message}`));
  }
  return { policies, findings };
}

function policyTexts(chain: Chain): Node[] {
  const names = filtersOf(chain).map(({ filter }) => filter.name);
  const perRoute = levelsOf(chain).flatMap((level) => names.map((name) => at(level, 'typed_per_filter_config', name)));
  const lists = [
    ...filtersOf(chain).map(({ filter }) => at(filter.config, 'grpc_service', 'initial_metadata')),
    ...perRoute.map((node) => at(node, 'overrides', 'grpc_initial_metadata')),
  ];
  const entries = lists.flatMap(items).filter((entry) => textAt(entry, 'key')?.toLowerCase() === policyKey);
  return entries.map((entry) => at(entry, 'value')).filter(({ value }) => typeof value === 'string');
}

function levelsOf({ manager: { routeConfig } }: Chain): Node[] {
  if (routeConfig === null) return [];
  const hosts = items(at(routeConfig, 'virtual_hosts'));
  return [routeConfig, ...hosts, ...hosts.flatMap((host) => items(at(host, 'routes')))];
}
