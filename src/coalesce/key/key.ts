/**
 * The key: a digest of everything that makes two requests the same. What is left out of it is on written lists with
 * reasons (`ignored-headers.ts`, the profiles) or in the policy's key options; everything else is in.
 */

import type { Profile } from '../profiles/profile.ts';
import type { RequestHead } from '../request/head.ts';
import type { Policy } from '../request/policy.ts';
import type { Tenancy } from '../request/tenant.ts';
import { digest, type Part } from './digest.ts';
import { keyedHeaders } from './ignored-headers.ts';
import { includedParts } from './options/include.ts';
import { isCredential, sortParameters, splitPath, type Parameter } from './query.ts';

/** 64 lower-case hex digits. */
export type Key = string & { readonly brand: 'Key' };

/** Changes whenever the parts, their order or the canonical form of any of them changes. */
const FORMAT_VERSION = '3';

export interface KeyInput {
  readonly head: RequestHead;
  readonly tenancy: Tenancy;
  /** Whose Envoy passed it on, where that is verified; else null. */
  readonly fleet: string | null;
  readonly policy: Pick<Policy, 'epoch' | 'key'>;
  readonly profile: Profile;
  /** Whether what only says who asks is left out, as it is in `body`. */
  readonly ignoreIdentity: boolean;
  /** From `canonicalBody`. */
  readonly body: Uint8Array;
}

/** Everything that the key is a digest of, part by part. */
export interface KeyParts {
  readonly format: Part;
  readonly tenant: Part;
  readonly fleet: Part;
  readonly method: Part;
  readonly authority: Part;
  readonly path: Part;
  readonly query: Part;
  /** Credentials of the query: no output may show them. */
  readonly credentials: Part;
  readonly route: Part;
  readonly cluster: Part;
  readonly headers: Part;
  readonly include: Part;
  readonly policy: Part;
  readonly profile: Part;
  readonly body: Uint8Array;
}

/** The parts in the order in which they are digested. */
export function keyParts(input: KeyInput): KeyParts {
  const { head, tenancy, fleet, policy, profile, body } = input;
  const { path, parameters } = splitPath(head.path);
  return {
    format: FORMAT_VERSION,
    tenant: tenancy.tenant,
    fleet,
    method: head.method,
    authority: head.authority,
    path,
    query: parameters === null ? null : sorted(parameters.filter((parameter) => !isCredential(parameter))),
    credentials: sorted((parameters ?? []).filter(isCredential)),
    route: head.routeName,
    cluster: head.clusterName,
    headers: headerParts(input),
    include: includedParts(head, policy.key.include),
    policy: policy.epoch,
    profile: profile.name,
    body,
  };
}

/** The same key for two requests only where one answer serves both. */
export function makeKey(secret: Uint8Array, { body, ...parts }: KeyParts): Key {
  return digest(secret, { label: 'key', parts: Object.values<Part>(parts), bytes: body }) as Key;
}

function sorted(parameters: readonly Parameter[]): Part {
  return sortParameters(parameters).map(({ name, value }) => [name, value]);
}

/** Sorted by name; headers of one name keep their order. */
function headerParts({ head, tenancy, policy, profile, ignoreIdentity }: KeyInput): Part {
  const { ignoreHeaders } = policy.key;
  const keyed = keyedHeaders(head.headers, { profile, ignoreIdentity, ignoreHeaders, isSigned: tenancy.isSigned });
  return keyed.toSorted(([left], [right]) => (left === right ? 0 : left < right ? -1 : 1));
}
