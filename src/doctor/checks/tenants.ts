/**
 * Whether any of a policy's tenant sources can reach the processor. A header or a query parameter may always come, but for a
 * token that jwt_authn takes away; what other filters know comes only where it is forwarded.
 */
import type { Policy, TenantSource } from '../../coalesce/request/policy.ts';
import type { Chain, OurFilter } from '../chain.ts';
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import type { HttpFilter } from '../http-filter.ts';
import { at, isTrueAt, items, members, textAt, textsOf, type Node } from '../node.ts';

const jwtNamespace = 'envoy.filters.http.jwt_authn';

export function checkTenants({ manager, decide }: Chain, { policies }: Expectations): Finding[] {
  if (decide === null) return [];
  const before = manager.filters.slice(0, decide.index);
  const sources = { decide, before };
  return [...unreachable(policies, sources), ...takenTokens(policies, sources)];
}

function unreachable(policies: readonly Policy[], sources: Arrivals): Finding[] {
  const { decide } = sources;
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
      return isForwarded(source.namespace, arrivals.decide) && isFilled(source.namespace, source.path, arrivals);
  }
}

function isForwarded(namespace: string, decide: OurFilter): boolean {
  const untyped = at(decide.filter.config, 'metadata_options', 'forwarding_namespaces', 'untyped');
  return textsOf(untyped).includes(namespace);
}

/** Callers whose token a provider takes, where its claims are no tenant either. Others may come with other credentials. */
function takenTokens(policies: readonly Policy[], { decide, before }: Arrivals): Finding[] {
  return providersOf(before).flatMap((provider) => {
    const headers = takenHeaders(provider);
    const isLost = ({ mode, tenant }: Policy): boolean => {
      if (mode === 'off' || tenant.anonymous === 'share') return false;
      const wanted = tenant.from.flatMap(partsOf);
      const byToken = wanted.some((source) => source.kind === 'header' && headers.includes(source.name));
      return byToken && !wanted.some((source) => isClaimOf(provider, source) && isForwarded(jwtNamespace, decide));
    };
    return policies.some(isLost) ? [found('token_taken', at(provider, 'payload_in_metadata'))] : [];
  });
}

/** Those that a provider looks at, in lower case; none where it passes the token on. */
function takenHeaders(provider: Node): string[] {
  if (isTrueAt(provider, 'forward')) return [];
  const named = items(at(provider, 'from_headers')).map((header) => textAt(header, 'name')?.toLowerCase() ?? '');
  const looksElsewhere = ['from_params', 'from_cookies'].some((field) => items(at(provider, field)).length > 0);
  return named.length > 0 || looksElsewhere ? named : ['authorization'];
}

function isClaimOf(provider: Node, source: TenantSource): boolean {
  if (source.kind !== 'metadata' || source.namespace !== jwtNamespace) return false;
  return textAt(provider, 'payload_in_metadata') === source.path[0];
}

function partsOf(source: TenantSource): TenantSource[] {
  return source.kind === 'all' ? source.sources.flatMap(partsOf) : [source];
}

function providersOf(filters: readonly HttpFilter[]): Node[] {
  const verifiers = filters.filter(({ kind }) => kind === 'jwt_authn');
  return verifiers.flatMap(({ config }) => members(at(config, 'providers')).map(([, provider]) => provider));
}

/** jwt_authn writes a token's claims only where it runs before decide, and under the name that a provider gives them. */
function isFilled(namespace: string, path: readonly string[], { before }: Arrivals): boolean {
  if (namespace !== jwtNamespace) return true;
  return providersOf(before).some((provider) => textAt(provider, 'payload_in_metadata') === path[0]);
}

function namespacesOf(source: TenantSource): string[] {
  return partsOf(source).flatMap((part) => (part.kind === 'metadata' ? [part.namespace] : []));
}

function unfilled(namespaces: readonly string[]): string {
  if (!namespaces.includes(jwtNamespace)) return 'change tenant.from';
  return 'put jwt_authn in front of coalesce.decide, with payload_in_metadata: payload in its provider';
}
