/**
 * Whether a call asks for the one answer that it would get again. Reads the profile's tables; how much is asked of a call
 * is the policy's to say.
 */

import { kinds } from '../../key/json/document.ts';
import { isZero, spellExactly } from '../../key/json/number.ts';
import { isText, lookUp, memberOf, type RequestBody } from '../../key/request-body.ts';
import type { JsonPath, Profile } from '../profile.ts';

/** Is the call as deterministic as `sampling` demands? */
export function isDeterministicEnough(
  body: RequestBody,
  { sampling: rules }: Profile,
  sampling: 'deterministic' | 'seeded' | 'any',
): boolean {
  if (sampling === 'any' || rules === 'none') return true;
  if (rules.overrides.some(({ path, off }) => isSwitchedOn(body, path, off))) return false;
  if (isGreedy(body, rules.temperatures)) return true;
  return sampling === 'seeded' && rules.seeds.some(({ path, random }) => isSeed(numberAt(body, path), random));
}

/** A temperature is given, and wherever it is given it is zero. */
function isGreedy(body: RequestBody, temperatures: readonly JsonPath[]): boolean {
  const given = temperatures.filter((path) => lookUp(body, path) !== 'absent').map((path) => numberAt(body, path));
  return given.length > 0 && given.every((lexeme) => lexeme !== null && isZero(lexeme));
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
