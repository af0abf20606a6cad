/** Which of the operator's policies applies to a request, where Envoy names none. */

import type { RequestHead } from './head.ts';
import type { Policy } from './policy.ts';

/** What a head has to have; null: anything. All that is given must hold. */
export interface PolicyMatch {
  /** Of the raw path, byte by byte. */
  readonly pathPrefix: string | null;
  /** In lower case; without a port it holds for every port. */
  readonly authority: string | null;
  readonly route: string | null;
}

export interface NamedPolicy {
  readonly policy: Policy;
  /** Null: only by name. */
  readonly match: PolicyMatch | null;
}

/** The first of `named` that matches, else `base`. */
export function policyFor(head: RequestHead, base: Policy, named: readonly NamedPolicy[]): Policy {
  return named.find(({ match }) => match !== null && matches(head, match))?.policy ?? base;
}

function matches(head: RequestHead, { pathPrefix, authority, route }: PolicyMatch): boolean {
  return (
    (pathPrefix === null || head.path.startsWith(pathPrefix)) &&
    (route === null || head.routeName === route) &&
    (authority === null || isAuthority(head.authority.toLowerCase(), authority))
  );
}

function isAuthority(given: string, wanted: string): boolean {
  return given === wanted || given.replace(/:\d+$/, '') === wanted;
}
