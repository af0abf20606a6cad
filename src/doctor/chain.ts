/**
 * The two filters within a chain: which entries are ours, and where they stand. One chain is one connection manager's.
 */
import type { ConnectionManager } from './deployment.ts';
import { isOurs, roleOf, type HttpFilter, type Role } from './http-filter.ts';

export interface OurFilter {
  readonly filter: HttpFilter;
  readonly role: Role;
  readonly index: number;
}

/** A chain that has at least one of the two. */
export interface Chain {
  readonly manager: ConnectionManager;
  readonly decide: OurFilter | null;
  readonly deliver: OurFilter | null;
  /** Where what is behind the two begins: the index after the last of them. */
  readonly behind: number;
}

/** The chain of a connection manager; null where it has none of ours. */
export function readChain(manager: ConnectionManager): Chain | null {
  const ours = manager.filters.flatMap((filter, index) => {
    return isOurs(filter) ? [{ filter, role: roleOf(filter), index }] : [];
  });
  if (ours.length === 0) return null;
  const first = (role: Role): OurFilter | null => ours.find((one) => one.role === role) ?? null;
  return { manager, decide: first('decide'), deliver: first('deliver'), behind: Math.max(...ours.map(after)) };
}

/** Those of the two that are there. */
export function filtersOf({ decide, deliver }: Chain): OurFilter[] {
  return [decide, deliver].filter((one) => one !== null);
}

function after({ index }: OurFilter): number {
  return index + 1;
}
