/**
 * Names of configuration keys: which a definition knows, and which known one a mistyped one resembles.
 */
import { z } from 'zod';

/** Every key of a definition as a dotted path without list indexes. */
export function keysOf(definition: z.ZodType): string[] {
  const keys: string[] = [];
  collect(z.toJSONSchema(definition, { io: 'input', unrepresentable: 'any' }), '', keys);
  return keys;
}

/**
 * The known key that `path` most resembles: one beside it that is spelt much alike, else one of the same name
 * elsewhere, else the most alike beside it. Null where there is nothing beside it.
 */
export function nearestKey(path: string, known: readonly string[]): string | null {
  const name = lastOf(path);
  const beside = known.filter((candidate) => parentOf(candidate) === parentOf(path));
  const ranked = beside.map((candidate) => ({ candidate, distance: editDistance(name, lastOf(candidate)) }));
  const best = ranked.reduce<(typeof ranked)[number] | null>(
    (least, one) => (least === null || one.distance < least.distance ? one : least),
    null,
  );
  if (best !== null && best.distance <= Math.max(2, Math.floor(name.length / 3))) return best.candidate;
  return known.find((candidate) => lastOf(candidate) === name) ?? best?.candidate ?? null;
}

function collect(schema: unknown, path: string, keys: string[]): void {
  if (typeof schema !== 'object' || schema === null) return;
  // A nullable value, and the one value or list of `listen`, are alternatives.
  if ('anyOf' in schema && Array.isArray(schema.anyOf)) for (const inner of schema.anyOf) collect(inner, path, keys);
  if ('items' in schema) collect(schema.items, path, keys);
  if (!('properties' in schema)) return;
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const key = path === '' ? name : `${path}.${name}`;
    keys.push(key);
    collect(inner, key, keys);
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')));
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** Levenshtein's distance. Names come from a file that its operator wrote; long ones are cut. */
function editDistance(left: string, right: string): number {
  const a = left.slice(0, 64);
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
