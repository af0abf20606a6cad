/**
 * The diagnosis: every check on an Envoy configuration, against what the processor's own asks of it. Pure: a configuration
 * in, findings out.
 */
import type { Config } from '../config/definition.ts';
import { readChain, type Chain } from './chain.ts';
import { checkFilters } from './checks/filters.ts';
import { checkListener } from './checks/listener.ts';
import { checkEgressFilters, checkNeighbours, isEgress } from './checks/neighbours.ts';
import { readPolicies } from './checks/policies.ts';
import { checkProcessorClusters } from './checks/processor-cluster.ts';
import { checkEgressRoutes, checkRoutes } from './checks/routes.ts';
import { checkTenants } from './checks/tenants.ts';
import type { Deployment } from './deployment.ts';
import { expectationsOf, type Expectations } from './expectations.ts';
import { found, type Finding } from './finding.ts';
import { at, printEnvoyPath } from './node.ts';
import { checkRunningEnvoy } from './running/running-envoy.ts';

export interface Diagnosis {
  readonly config: Config;
  readonly deployment: Deployment;
  /** `/server_info` of a running Envoy; null for a file. */
  readonly serverInfo: unknown;
}

/** Findings, errors first, each once. */
export function diagnose({ config, deployment, serverInfo }: Diagnosis): Finding[] {
  const chains = deployment.managers.map(readChain).filter((chain) => chain !== null);
  const named = readPolicies(chains, config);
  const expected = expectationsOf(config, named.policies);
  const egresses = deployment.managers.filter((manager) => isEgress(manager, expected.egressPort));
  const findings = [
    ...presence(deployment, chains),
    ...named.findings,
    ...chains.flatMap((chain) => checkChain(chain, expected)),
    ...egresses.flatMap((manager) => [
      ...checkEgressFilters(manager),
      ...checkEgressRoutes(manager, expected),
      ...checkListener(manager, expected),
    ]),
    ...checkProcessorClusters(chains, deployment.clusters, expected),
    ...(serverInfo === null ? [] : checkRunningEnvoy(serverInfo, expected)),
  ];
  return errorsFirst(once(findings));
}

function presence({ root }: Deployment, chains: readonly Chain[]): Finding[] {
  if (chains.length > 0) return [];
  const place = at(root, 'static_resources', 'listeners');
  return [found('filters_missing', place.value === undefined ? root : place)];
}

function checkChain(chain: Chain, expected: Expectations): Finding[] {
  return [
    ...checkNeighbours(chain),
    ...checkFilters(chain, expected),
    ...checkTenants(chain, expected),
    ...checkRoutes(chain, expected),
    ...checkListener(chain.manager, expected),
  ];
}

function once(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((one) => [`${one.id} ${printEnvoyPath(one.path)}`, one])).values()];
}

function errorsFirst(findings: readonly Finding[]): Finding[] {
  const ofSeverity = (severity: Finding['severity']): Finding[] => findings.filter((one) => one.severity === severity);
  return [...ofSeverity('error'), ...ofSeverity('warning')];
}
