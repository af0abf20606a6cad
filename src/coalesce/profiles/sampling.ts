/**
 * Whether a call asks for the one answer that it would get again. Reads the profile's tables; how much is asked of a call
 * is the policy's to say.
 */

import { kinds, type JsonNode } from '../key/json/document.ts';
import { isZero, spellExactly } from '../key/json/number.ts';
import { lookUp, type RequestBody } from '../key/request-body.ts';
import type { Profile } from './profile.ts';

/** Is the call as deterministic as `sampling` demands? */
export function isDeterministicEnough(
  body: RequestBody,
  { sampling: rules }: Profile,
  sampling: 'deterministic' | 'seeded' | 'any',
): boolean {
  if (sampling === 'any' || rules === 'none') return true;
  if (rules.overrides.some(({ member, off }) => isSwitchedOn(body, member, off))) return false;
  const temperature = numberAt(body, rules.temperature);
  if (temperature !== null && isZero(temperature)) return true;
  return sampling === 'seeded' && rules.seeds.some(({ path, random }) => isSeed(numberAt(body, path), random));
}

function isSeed(lexeme: string | null, random: readonly string[]): boolean {
  return lexeme !== null && !random.includes(spellExactly(lexeme));
}

/** Whether an object member does something; only `{type: off}`, null and absence say that it does not. */
function isSwitchedOn(body: RequestBody, member: string, off: string): boolean {
  const node = body.members.get(member);
  if (node === undefined || body.document.kind(node) === kinds.null) return false;
  const type = lookUp(body, [member, 'type']);
  return !isNode(type) || !body.document.isString(type) || body.document.text(type) !== off;
}

/** The number at a path, as written; null where there is none. */
function numberAt(body: RequestBody, path: readonly string[]): string | null {
  const node = lookUp(body, path);
  return isNode(node) && body.document.kind(node) === kinds.number ? body.document.lexeme(node) : null;
}

function isNode(found: JsonNode | 'absent' | 'ambiguous'): found is JsonNode {
  return typeof found === 'number';
}
