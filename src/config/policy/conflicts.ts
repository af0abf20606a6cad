/** What has to hold between the keys of one policy. */
import { tenantHeaders } from './tenant-sources.ts';
import type { Finding } from '../mistakes/mistakes.ts';
import type { PolicyContent } from '../policy-definition.ts';

/** Paths begin in the policy. */
export function policyConflicts({ tenant, key }: Pick<PolicyContent, 'tenant' | 'key'>): Finding[] {
  const tenants = new Set(tenantHeaders(tenant.from));
  const included = new Set(key.include.flatMap((source) => (source.kind === 'header' ? [source.name] : [])));
  return key.ignoreHeaders.flatMap((name, index) => {
    const path = ['key', 'ignore_headers', index];
    const findings: Finding[] = [];
    if (tenants.has(name))
      findings.push({ path, message: `${name} is a source of tenant.from, which always counts`, onKey: false });
    if (included.has(name))
      findings.push({ path, message: `${name} is in key.include too, expected one of the two`, onKey: false });
    return findings;
  });
}
