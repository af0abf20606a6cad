/** The words for a tenant's source and for the reasons of a bypass. */
import type { BypassReason } from '../../coalesce/request/outcomes.ts';
import type { TenantSource } from '../../coalesce/request/policy.ts';

/** One word for a source, as it is configured: `header:authorization`, `all(metadata:…, header:…)`. */
export function tenantSourceName(source: TenantSource | 'anonymous'): string {
  if (source === 'anonymous') return source;
  switch (source.kind) {
    case 'header':
    case 'query':
    case 'attribute':
      return `${source.kind}:${source.name}`;
    case 'metadata':
      return `metadata:${source.namespace}:${source.path.join('.')}`;
    case 'sigv4':
      return 'sigv4:access_key';
    case 'all':
      return `all(${source.sources.map(tenantSourceName).join(', ')})`;
  }
}

/** What each reason means for a request that one can look at; those that only a running processor gives have no entry. */
export const reasonsInWords: Readonly<Partial<Record<BypassReason, string>>> = {
  opt_out: 'the caller sent x-coalesce: never',
  mode_off: 'the policy has mode: off',
  not_llm: 'method and path are no endpoint on the list of profiles',
  upgrade: 'it asks for another protocol',
  content_type: 'it does not say, once, that its body is JSON in UTF-8',
  no_body: 'it has no body',
  too_large: 'its body, or the length that it names, is over limits.max_request_bytes',
  unparseable:
    'its body is not JSON that every reader reads alike (a name twice, a name in another case, broken text), or names no model',
  unsupported_encoding: 'its body is compressed',
  side_effects:
    'it does more than answer: tools that act, state that it keeps or continues; or functions, which tools: allow lets pass',
  nondeterministic: 'its answer is another one each time; see sampling',
  no_tenant: 'no source of tenant.from says for certain whose it is',
  egress_loop: "it carries x-coalesce-flight: it is the processor's own call",
};
