/** The members of an object, sorted by name: the order in which an envelope stands in the canonical body. */

import type { JsonNode } from './json/document.ts';

/** Side by side, because objects for each member are what sorting small objects costs most. */
export interface NamedNodes {
  readonly names: string[];
  readonly values: JsonNode[];
}

/** Up to this many members, sorting by insertion is cheaper than a call. */
const FEW_MEMBERS = 8;

/** No two have one name. The lists that are given may be sorted in place. */
export function sortByName(members: NamedNodes): NamedNodes {
  const { names, values } = members;
  if (names.length > FEW_MEMBERS) return sortMany(members);
  for (let index = 1; index < names.length; index += 1) moveDown(names, values, index);
  return members;
}

/** Moves one member to its place among those before it, which are sorted. */
function moveDown(names: string[], values: JsonNode[], index: number): void {
  const name = names[index] ?? '';
  const value = values[index] ?? 0;
  let place = index;
  for (let before = names[place - 1]; before !== undefined && before > name; before = names[place - 1]) {
    names[place] = before;
    values[place] = values[place - 1] ?? 0;
    place -= 1;
  }
  names[place] = name;
  values[place] = value;
}

function sortMany({ names, values }: NamedNodes): NamedNodes {
  const pairs = names.map((name, index) => ({ name, value: values[index] ?? 0 }));
  pairs.sort((left, right) => (left.name < right.name ? -1 : 1));
  return { names: pairs.map(({ name }) => name), values: pairs.map(({ value }) => value) };
}
