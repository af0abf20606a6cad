/**
 * Whether any of a policy's tenant sources can reach the processor. A header or a query parameter may always come; what
 * other filters know comes only where it is forwarded.
 */
import type { Policy, TenantSource } from '../../coalesce/request/policy.ts';
import type { Chain, OurFilter } from '../chain.ts';
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import type { HttpFilter } from '../http-filter.ts';
import { at, members, textAt, textsOf } from '../node.ts';

const jwtNamespace = 'envoy.filters.http.jwt_authn';

export function checkTenants({ manager, decide }: Chain, { policies }: Expectations): Finding[] {
  if (decide === null) return [];
  const before = manager.filters.slice(0, decide.index);
  const sources = { decide, before };
  const bad = policies.filter((policy) => isStarved(policy, sources));
  const namespaces = new Set(bad.flatMap(({ tenant }) => tenant.from.flatMap(namespacesOf)));
  if (bad.length === 0) return [];
  const place = at(decide.filter.config, 'metadata_options', 'forwarding_namespaces', 'untyped');
  const lacking = [...namespaces].filter((namespace) => !textsOf(place).includes(namespace));
  const fix =
    lacking.length > 0 ? `forwarding_namespaces: { untyped: [${lacking.join(', ')}] }` : unfilled([...namespaces]);
  return [found('tenants_unreachable', place, fix)];
}

interface Arrivals {
  readonly decide: OurFilter;
  readonly before: readonly HttpFilter[];
}

function isStarved({ mode, tenant }: Policy, arrivals: Arrivals): boolean {
  if (mode === 'off' || tenant.anonymous === 'share') return false;
  return !tenant.from.some((source) => canArrive(source, arrivals));
}

function canArrive(source: TenantSource, arrivals: Arrivals): boolean {
  switch (source.kind) {
    case 'header':
    case 'query':
    case 'sigv4':
      return true;
    case 'attribute':
      return textsOf(at(arrivals.decide.filter.config, 'request_attributes')).includes(source.name);
    case 'all':
      return source.sources.every((one) => canArrive(one, arrivals));
    case 'metadata':
      return isForwarded(source.namespace, arrivals) && isFilled(source.namespace, source.path, arrivals);
  }
}

function isForwarded(namespace: string, { decide }: Arrivals): boolean {
  const untyped = at(decide.filter.config, 'metadata_options', 'forwarding_namespaces', 'untyped');
  return textsOf(untyped).includes(namespace);
}

/** jwt_authn writes a token's claims only where it runs before decide, and under the name that a provider gives them. */
function isFilled(namespace: string, path: readonly string[], { before }: Arrivals): boolean {
  if (namespace !== jwtNamespace) return true;
  const providers = before
    .filter(({ kind }) => kind === 'jwt_authn')
    .flatMap(({ config }) => members(at(config, 'providers')));
  return providers.some(([, provider]) => textAt(provider, 'payload_in_metadata') === path[0]);
}

function namespacesOf(source: TenantSource): string[] {
  if (source.kind === 'all') return source.sources.flatMap(namespacesOf);
  return source.kind === 'metadata' ? [source.namespace] : [];
}

function unfilled(namespaces: readonly string[]): string {
  if (!namespaces.includes(jwtNamespace)) return 'change tenant.from';
  return 'put jwt_authn in front of coalesce.decide, with payload_in_metadata: payload in its provider';
}
