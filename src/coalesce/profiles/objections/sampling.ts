/**
 * Whether a call asks for the one answer that it would get again. Reads the profile's tables; how much is asked of a call
 * is the policy's to say.
 */

import { kinds } from '../../key/json/document.ts';
import { isZero, spellExactly } from '../../key/json/number.ts';
import { isText, lookUp, memberOf, type RequestBody } from '../../key/request-body.ts';
import type { JsonPath, Profile } from '../profile.ts';

/** What makes the call less deterministic than `sampling` demands; null: nothing does. */
export function nondeterminismOf(
  body: RequestBody,
  { sampling: rules }: Profile,
  sampling: 'deterministic' | 'seeded' | 'any',
): string | null {
  if (sampling === 'any' || rules === 'none') return null;
  const override = rules.overrides.find(({ path, off }) => isSwitchedOn(body, path, off));
  if (override !== undefined) return `${pointerTo(override.path)}: ${override.why}`;
  const warmth = warmthOf(body, rules.temperatures);
  if (warmth === null) return null;
  const isSeeded = rules.seeds.some(({ path, random }) => isSeed(numberAt(body, path), random));
  if (!isSeeded) return warmth;
  return sampling === 'seeded' ? null : `${warmth}, and a seed counts only with sampling: seeded`;
}

/** Null where a temperature is given, and wherever it is given it is zero. */
function warmthOf(body: RequestBody, temperatures: readonly JsonPath[]): string | null {
  const given = temperatures.filter((path) => lookUp(body, path) !== 'absent');
  if (given.length === 0) return `${temperatures.map(pointerTo).join(', ')}: absent`;
  const warm = given.find((path) => !isZeroAt(body, path));
  return warm === undefined ? null : `${pointerTo(warm)}: not 0`;
}

function isZeroAt(body: RequestBody, path: JsonPath): boolean {
  const lexeme = numberAt(body, path);
  return lexeme !== null && isZero(lexeme);
}

function pointerTo(path: JsonPath): string {
  return `/${path.join('/')}`;
}

function isSeed(lexeme: string | null, random: readonly string[]): boolean {
  return lexeme !== null && !random.includes(spellExactly(lexeme));
}

/** Whether an object does something; only `{type: off}`, null and absence say that it does not. */
function isSwitchedOn(body: RequestBody, path: JsonPath, off: string): boolean {
  const { document } = body;
  const node = lookUp(body, path);
  if (node === 'absent') return false;
  if (node === 'ambiguous') return true;
  if (document.kind(node) === kinds.null) return false;
  const type = memberOf(document, node, 'type');
  return type === 'absent' || type === 'ambiguous' || !isText(document, type, off);
}

/** The number at a path, as written; null where there is none. */
function numberAt(body: RequestBody, path: JsonPath): string | null {
  const node = lookUp(body, path);
  if (node === 'absent' || node === 'ambiguous') return null;
  return body.document.kind(node) === kinds.number ? body.document.lexeme(node) : null;
}
