/** What of a request may be shown: never a credential, nor any long value in full. */
import { isCredentialHeader } from '../../coalesce/key/options/credential-headers.ts';
import { isSecret, splitPath } from '../../coalesce/key/query.ts';
import type { Policy, TenantSource } from '../../coalesce/request/policy.ts';

const longestShown = 32;
const beginningShown = 12;

/** A header's value as it may be shown under this policy. */
export function shownHeader(name: string, value: string, policy: Policy): string {
  if (isCredentialHeader(name) || isTenantSource(policy.tenant.from, 'header', name)) return redacted(value);
  return shortened(value);
}

/** A raw path with the values of credentials taken out. */
export function shownPath(path: string, policy: Policy): string {
  const { path: plain, parameters } = splitPath(path);
  if (parameters === null) return plain;
  const shown = parameters.map((parameter) => {
    const { name, value } = parameter;
    if (value === null) return name;
    const hidden = isSecret(parameter) || isTenantSource(policy.tenant.from, 'query', parameter.folded);
    return `${name}=${hidden ? redacted(value) : value}`;
  });
  return `${plain}?${shown.join('&')}`;
}

/** A value that is no credential, but may hold one. */
export function shortened(value: string): string {
  if (value.length <= longestShown) return value;
  return `${value.slice(0, beginningShown)}… (${value.length} characters)`;
}

function redacted(value: string): string {
  return value === '' ? '' : `<redacted, ${value.length} characters>`;
}

function isTenantSource(sources: readonly TenantSource[], kind: 'header' | 'query', name: string): boolean {
  return sources.some((source) => {
    if (source.kind === 'all') return isTenantSource(source.sources, kind, name);
    return source.kind === kind && source.name.toLowerCase() === name;
  });
}
