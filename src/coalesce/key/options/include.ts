/** What a policy adds to the key: headers that are ignored otherwise, and metadata that other filters wrote. */

import type { KeyInclude } from '../../request/policy.ts';
import { headerValues, type RequestHead } from '../../request/head.ts';
import type { Part } from '../digest.ts';

/** One part for each source, so that what is absent takes its place too. */
export function includedParts(head: RequestHead, include: readonly KeyInclude[]): Part[] {
  return include.map((source) => {
    if (source.kind === 'header') return ['header', source.name, headerValues(head.headers, source.name)];
    return [
      'metadata',
      source.namespace,
      source.path,
      plainPart(valueAt(head.metadata(source.namespace), source.path)),
    ];
  });
}

function valueAt(metadata: unknown, path: readonly string[]): unknown {
  let value = metadata;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}

/** A plain value as a part of its own kind. Members of objects come in no certain order from Envoy: they are sorted. */
function plainPart(value: unknown): Part {
  if (value === undefined || value === null) return value === null ? ['null'] : null;
  if (typeof value === 'string') return ['text', value];
  if (Array.isArray(value)) return ['list', value.map(plainPart)];
  if (typeof value === 'number' || typeof value === 'boolean') return [typeof value, String(value)];
  // Plain values hold nothing else.
  if (typeof value !== 'object') return null;
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return ['object', members.map(([name, member]) => [name, plainPart(member)])];
}
