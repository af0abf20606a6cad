/**
 * One entry of `http_filters`: its kind and its configuration, through whatever wraps it (a matcher, a TypedStruct, a
 * delivery by itself), and which of the two filters of ours it is.
 */
import { at, isSet, isTrueAt, items, textAt, textsOf, type Node } from './node.ts';

export type Role = 'decide' | 'deliver';

export interface HttpFilter {
  /** The entry itself. */
  readonly node: Node;
  readonly name: string;
  /** `ext_proc`, `jwt_authn`, …; the filter's name where its type says nothing. */
  readonly kind: string;
  /** The configuration proper, within a matcher if there is one. */
  readonly config: Node;
  /** Off unless a route turns it on. */
  readonly isOff: boolean;
}

/** The namespace of our dynamic metadata. */
export const ownNamespace = 'coalesce';

const markKey = 'x-coalesce-filter';

/** `delivered`: filters that a control plane delivers by themselves, by name. */
export function readFilter(node: Node, delivered: ReadonlyMap<string, Node>): HttpFilter {
  const name = textAt(node, 'name') ?? '';
  const { type, config } = unwrapped(typedConfigOf(node, delivered.get(name)));
  return { node, name, kind: kindOf(type, name), config, isOff: isTrueAt(node, 'disabled') };
}

/** What initial metadata calls the filter; null where it says nothing. */
export function markOf({ config }: HttpFilter): Role | null {
  const entries = items(at(config, 'grpc_service', 'initial_metadata'));
  const value = entries.find((entry) => textAt(entry, 'key')?.toLowerCase() === markKey);
  const mark = value === undefined ? null : textAt(value, 'value');
  return mark === 'decide' || mark === 'deliver' ? mark : null;
}

/** Whether it calls our processor, as far as its own configuration shows. */
export function isOurs(filter: HttpFilter): boolean {
  if (filter.kind !== 'ext_proc') return false;
  const receives = textsOf(at(filter.config, 'metadata_options', 'receiving_namespaces', 'untyped'));
  return markOf(filter) !== null || filter.name.startsWith('coalesce') || receives.includes(ownNamespace);
}

/** The role of one of ours: what it says itself, else what its name or its ticket says. */
export function roleOf(filter: HttpFilter): Role {
  const mark = markOf(filter);
  if (mark !== null) return mark;
  if (/decide|deliver/.test(filter.name)) return filter.name.includes('deliver') ? 'deliver' : 'decide';
  const forwards = textsOf(at(filter.config, 'metadata_options', 'forwarding_namespaces', 'untyped'));
  return forwards.includes(ownNamespace) ? 'deliver' : 'decide';
}

function typedConfigOf(node: Node, delivered: Node | undefined): Node {
  const own = at(node, 'typed_config');
  if (isSet(own)) return own;
  if (delivered !== undefined) return at(delivered, 'typed_config');
  const fallback = at(node, 'config_discovery', 'default_config');
  return isSet(fallback) ? fallback : own;
}

function unwrapped(node: Node): { readonly type: string; readonly config: Node } {
  const type = textAt(node, '@type') ?? '';
  if (type.endsWith('.ExtensionWithMatcher')) return unwrapped(at(node, 'extension_config', 'typed_config'));
  if (type.endsWith('.TypedStruct')) {
    return { type: textAt(node, 'type_url') ?? '', config: at(node, 'value') };
  }
  return { type, config: node };
}

function kindOf(type: string, name: string): string {
  const match = /\.filters\.http\.([a-z0-9_]+)\./.exec(type) ?? /^envoy\.filters\.http\.([a-z0-9_]+)$/.exec(name);
  return match?.[1] ?? name;
}
