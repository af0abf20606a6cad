/** The names of an endpoint's root members, ready to be compared with a reader that ignores case. */

import { foldName } from '../key/case-fold.ts';

export interface KnownNames {
  readonly exact: ReadonlySet<string>;
  /** The same names as a reader that ignores case sees them. */
  readonly folded: ReadonlySet<string>;
}

/** From lines of names with spaces between. */
export function knownNames(...lines: readonly string[]): KnownNames {
  const names = lines.flatMap((line) => line.split(' '));
  return { exact: new Set(names), folded: new Set(names.map(foldName)) };
}

/** The names of both; where an endpoint takes all that another one takes, and more. */
export function joinNames(left: KnownNames, right: KnownNames): KnownNames {
  return { exact: new Set([...left.exact, ...right.exact]), folded: new Set([...left.folded, ...right.folded]) };
}

/** Does the name differ from a known one only in what some readers ignore? */
export function isMisspelled(name: string, { exact, folded }: KnownNames): boolean {
  return !exact.has(name) && folded.has(foldName(name));
}
