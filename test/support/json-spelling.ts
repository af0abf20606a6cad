/**
 * Spells a JSON value in one of the many ways that mean the same: whitespace, escapes, and an order of members where the
 * caller says that order is noise.
 */

import fc from 'fast-check';

/** Any JSON value that a text can hold without loss, with numbers in the range that is read. */
export function jsonInRange(maxDepth: number): fc.Arbitrary<unknown> {
  return fc
    .jsonValue({ maxDepth })
    .filter((value) => !JSON.stringify(value).includes('e+308'))
    .map((value): unknown => JSON.parse(JSON.stringify(value))); // -0 becomes 0
}

export interface Spelling {
  /** Yields a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Whether members may be reordered, by the path of the object (array indexes as `*`). */
  readonly mayReorder: (path: string) => boolean;
  /** Whether a number may be respelled, by its path. */
  readonly mayRespell: (path: string) => boolean;
}

/** A repeatable source of randomness. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** JSON text of `value`. */
export function spell(value: unknown, spelling: Spelling, path = ''): string {
  const gap = gapOf(spelling);
  return `${gap}${spellBare(value, spelling, path)}${gap}`;
}

function spellBare(value: unknown, spelling: Spelling, path: string): string {
  if (typeof value === 'string') return spellString(value, spelling);
  if (typeof value === 'number')
    return spelling.mayRespell(path) ? spellNumber(value, spelling) : JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((item) => spell(item, spelling, `${path}/*`)).join(',') || gapOf(spelling)}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) =>
      `${gapOf(spelling)}${spellString(name, spelling)}${gapOf(spelling)}:${spell(member, spelling, `${path}/${name}`)}`,
  );
  return `{${(spelling.mayReorder(path) ? shuffle(members, spelling) : members).join(',') || gapOf(spelling)}}`;
}

function spellString(text: string, { random }: Spelling): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  // Either all units are escaped or none, so that no surrogate pair is split between the two.
  if (random() < 0.2) return `"${units.map((unit) => escapeUnit(unit, random() < 0.5)).join('')}"`;
  return random() < 0.3 ? JSON.stringify(text).replaceAll('/', '\\/') : JSON.stringify(text);
}

function escapeUnit(unit: number, isUpper: boolean): string {
  const hex = unit.toString(16).padStart(4, '0');
  return `\\u${isUpper ? hex.toUpperCase() : hex}`;
}

function spellNumber(value: number, { random }: Spelling): string {
  const plain = Object.is(value, -0) ? '-0' : String(value);
  if (plain.includes('e')) return plain;
  const choices = [plain, `${plain}e0`, `${plain}E+00`, plain.includes('.') ? `${plain}0` : `${plain}.0`];
  return choices[Math.floor(random() * choices.length)] ?? plain;
}

function gapOf({ random }: Spelling): string {
  return random() < 0.2 ? ([' ', '\n', '\t', '\r\n  '][Math.floor(random() * 4)] ?? '') : '';
}

function shuffle<T>(items: readonly T[], { random }: Spelling): T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((left, right) => left.rank - right.rank)
    .map(({ item }) => item);
}
