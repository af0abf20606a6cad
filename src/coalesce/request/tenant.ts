/**
 * Who may share with whom. A tenant is what the policy's sources say about a caller; the upstream or a filter before us
 * has verified it, or will.
 *
 * A source that says nothing (absent or empty) leaves the word to the next one. A source that says something which names
 * no one tenant for certain (sent twice, no string, a broken signature) ends the search: falling through to a weaker source
 * could put a caller among others that it was never checked against. Such a caller shares with nobody, not even as anonymous.
 */

import { digest, type Part } from '../key/digest.ts';
import { isPresigned, splitPath } from '../key/query.ts';
import { headerValues, type RequestHead } from './head.ts';
import type { Policy, TenantSource } from './policy.ts';
import { readSignature } from './sigv4.ts';

/** 64 lower-case hex digits. */
export type Tenant = string & { readonly brand: 'Tenant' };

export interface Tenancy {
  readonly tenant: Tenant;
  /** Which of the policy's sources named it. */
  readonly source: TenantSource | 'anonymous';
  /** The tenant holds who signed the request, so that the signature itself need not be in the key. */
  readonly isSigned: boolean;
}

/** What one source says; a value carries the kind and name of its source, so that values of different sources never meet. */
type Finding = { readonly kind: 'value'; readonly value: Part; readonly isSigned: boolean } | 'absent' | 'uncertain';

/** The caller's tenant; null where it has none and the policy wants one, or where it is uncertain. */
export function tenantOf(head: RequestHead, policy: Policy, secret: Uint8Array): Tenancy | null {
  // A presigned URL is a credential for one caller, whoever else is named.
  if (isPresigned(splitPath(head.path))) return null;
  for (const source of policy.tenant.from) {
    const finding = find(head, source);
    if (finding === 'uncertain') return null;
    if (finding !== 'absent') return { tenant: digestOf(secret, finding.value), source, isSigned: finding.isSigned };
  }
  if (policy.tenant.anonymous === 'bypass') return null;
  return { tenant: digestOf(secret, ['anonymous']), source: 'anonymous', isSigned: false };
}

function digestOf(secret: Uint8Array, value: Part): Tenant {
  return digest(secret, { label: 'tenant', parts: [value] }) as Tenant;
}

function find(head: RequestHead, source: TenantSource): Finding {
  switch (source.kind) {
    case 'header':
      return fromHeader(head, source.name.toLowerCase());
    case 'query':
      return fromQuery(head, source.name);
    case 'metadata':
      return fromMetadata(head, source.namespace, source.path);
    case 'attribute':
      return fromAttribute(head, source.name);
    case 'sigv4':
      return fromSignature(head);
    case 'all':
      return fromAll(head, source.sources);
  }
}

function fromHeader(head: RequestHead, name: string): Finding {
  const [value, ...others] = headerValues(head.headers, name);
  if (others.length > 0) return 'uncertain';
  if (value === undefined || value.trim() === '') return 'absent';
  // A scheme without a credential (RFC 9110, 11.4) says how somebody would show who they are, and not who.
  if (/^\s*(bearer|basic|digest|negotiate|token|apikey)\s*$/i.test(value)) return 'absent';
  // A signature is another one for each request, and an access key id is no secret: that is for `sigv4` alone.
  if (/^\s*aws4-/i.test(value)) return 'absent';
  return found(['header', name, value]);
}

/** Another spelling of the name may be the same parameter to the upstream: then it is uncertain which one counts. */
function fromQuery(head: RequestHead, name: string): Finding {
  const candidates = (splitPath(head.path).parameters ?? []).filter(({ folded }) => folded === name.toLowerCase());
  const [parameter] = candidates;
  if (parameter === undefined) return 'absent';
  if (candidates.length > 1 || parameter.name !== name) return 'uncertain';
  return parameter.value === null || parameter.value === '' ? 'absent' : found(['query', name, parameter.value]);
}

function fromMetadata(head: RequestHead, namespace: string, path: readonly string[]): Finding {
  let value: unknown = head.metadata(namespace);
  for (const name of path) {
    if (value === undefined || value === null) return 'absent';
    if (typeof value !== 'object' || Array.isArray(value)) return 'uncertain';
    value = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  }
  if (value === undefined || value === null) return 'absent';
  return typeof value === 'string' && value !== '' ? found(['metadata', namespace, path, value]) : 'uncertain';
}

function fromAttribute(head: RequestHead, name: string): Finding {
  const value = head.attribute(name);
  if (value === undefined || value === null) return 'absent';
  return typeof value === 'string' && value !== '' ? found(['attribute', name, value]) : 'uncertain';
}

function fromSignature(head: RequestHead): Finding {
  const signature = readSignature(head.headers);
  if (signature === 'absent' || signature === 'uncertain') return signature;
  const { accessKeyId, region, service, sessionToken } = signature;
  return { kind: 'value', value: ['sigv4', accessKeyId, region, service, sessionToken], isSigned: true };
}

/** All or nothing: one that is absent makes the whole absent. */
function fromAll(head: RequestHead, sources: readonly TenantSource[]): Finding {
  const values: Part[] = [];
  let isSigned = false;
  let isComplete = sources.length > 0;
  for (const source of sources) {
    const finding = find(head, source);
    if (finding === 'uncertain') return 'uncertain';
    if (finding === 'absent') isComplete = false;
    else {
      values.push(finding.value);
      isSigned ||= finding.isSigned;
    }
  }
  return isComplete ? { kind: 'value', value: ['all', values], isSigned } : 'absent';
}

function found(value: Part): Finding {
  return { kind: 'value', value, isSigned: false };
}
