/**
 * Whether an object names a member twice, after unescaping. Readers disagree about which of the two counts, so that such
 * an object means no one thing.
 */

import { kinds, type JsonDocument, type JsonNode } from './document.ts';

/** Up to this many members, comparing each with each is cheaper than a set. */
const PAIRWISE_MEMBERS = 8;

/** `object` may be any object of the document. Linear in its size. */
export function hasDuplicateNames(document: JsonDocument, object: JsonNode): boolean {
  const end = document.after(object);
  let count = 0;
  let arePlain = true;
  for (let name = object + 1; name < end; name = document.after(name + 1)) {
    count += 1;
    arePlain &&= document.kind(name) === kinds.plainString;
  }
  if (count < 2) return false;
  return arePlain && count <= PAIRWISE_MEMBERS ? hasEqualPair(document, object, end) : hasRepeat(document, object, end);
}

function hasEqualPair(document: JsonDocument, object: JsonNode, end: JsonNode): boolean {
  for (let left = object + 1; left < end; left = document.after(left + 1)) {
    for (let right = document.after(left + 1); right < end; right = document.after(right + 1)) {
      if (areSameBytes(document, left, right)) return true;
    }
  }
  return false;
}

function areSameBytes(document: JsonDocument, left: JsonNode, right: JsonNode): boolean {
  const leftStart = document.start(left);
  const rightStart = document.start(right);
  const size = document.end(left) - leftStart;
  if (document.end(right) - rightStart !== size) return false;
  for (let offset = 0; offset < size; offset += 1) {
    if (document.bytes[leftStart + offset] !== document.bytes[rightStart + offset]) return false;
  }
  return true;
}

/** A Set, whose strings the engine hashes with a seed: names chosen to collide do not make it slow. */
function hasRepeat(document: JsonDocument, object: JsonNode, end: JsonNode): boolean {
  const seen = new Set<string>();
  let count = 0;
  for (let name = object + 1; name < end; name = document.after(name + 1)) {
    seen.add(document.text(name));
    count += 1;
  }
  return seen.size < count;
}
