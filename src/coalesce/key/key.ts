/**
 * The key: a digest of everything that makes two requests the same. What is left out of it is on written lists with
 * reasons (`ignored-headers.ts`, the profiles); everything else is in.
 */

import type { RequestHead } from '../request/head.ts';
import type { Tenancy } from '../request/tenant.ts';
import { digest, type Part } from './digest.ts';
import { keyedHeaders } from './ignored-headers.ts';
import { isCredential, sortParameters, splitPath, type Parameter } from './query.ts';

/** 64 lower-case hex digits. */
export type Key = string & { readonly brand: 'Key' };

/** Changes whenever the parts, their order or the canonical form of any of them changes. */
const FORMAT_VERSION = '1';

export interface KeyParts {
  readonly head: RequestHead;
  readonly tenancy: Tenancy;
  readonly policyEpoch: string;
  readonly profileName: string;
  /** From `canonicalBody`. */
  readonly body: Uint8Array;
}

/** The same key for two requests only where one answer serves both. */
export function makeKey(secret: Uint8Array, { head, tenancy, policyEpoch, profileName, body }: KeyParts): Key {
  const { path, parameters } = splitPath(head.path);
  const parts: Part[] = [
    FORMAT_VERSION,
    tenancy.tenant,
    head.method,
    head.authority,
    path,
    parameters === null ? null : sorted(parameters.filter((parameter) => !isCredential(parameter))),
    sorted((parameters ?? []).filter(isCredential)),
    head.routeName,
    head.clusterName,
    headerParts(head, tenancy),
    policyEpoch,
    profileName,
  ];
  return digest(secret, { label: 'key', parts, bytes: body }) as Key;
}

function sorted(parameters: readonly Parameter[]): Part {
  return sortParameters(parameters).map(({ name, value }) => [name, value]);
}

/** Sorted by name; headers of one name keep their order. A signature that is the tenant's changes with every send. */
function headerParts(head: RequestHead, { isSigned }: Tenancy): Part {
  const keyed = keyedHeaders(head.headers).filter(([name]) => !(isSigned && name === 'authorization'));
  return keyed.toSorted(([left], [right]) => (left === right ? 0 : left < right ? -1 : 1));
}
