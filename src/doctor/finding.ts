/** A finding of `doctor` at its place. What each means is in `catalogue.ts`; where to look is the checks' affair. */
import { catalogue, type FindingId, type Severity } from './catalogue.ts';
import type { EnvoyPath, Node } from './node.ts';

export interface Finding {
  readonly id: FindingId;
  readonly severity: Severity;
  /** Where the line stands that is wrong, or should stand. */
  readonly path: EnvoyPath;
  readonly consequence: string;
  readonly fix: string;
}

/** A finding at a place; `fix` says more exactly what the list says in general. */
export function found(id: FindingId, node: Node, fix?: string): Finding {
  const entry = catalogue[id];
  return { id, severity: entry.severity, path: node.path, consequence: entry.consequence, fix: fix ?? entry.fix };
}
