/**
 * What a policy takes out of a body's canonical form, by the nodes of that one body. The body itself stays as it is: the
 * upstream gets the leader's bytes.
 */

import type { Profile } from '../../profiles/profile.ts';
import type { KeyOptions } from '../../request/policy.ts';
import type { JsonNode } from '../json/document.ts';
import type { RequestBody } from '../request-body.ts';
import { nodesAt, parsePointer } from './body-pointer.ts';
import { messageTexts } from './message-texts.ts';
import { normalizer } from './normalize.ts';

export interface BodyChanges {
  /** Values that do not count, each with its name where it has one. */
  readonly leftOut: ReadonlySet<JsonNode>;
  /** What stands in the key for a string. May hold lone surrogates, which no body can. */
  readonly texts: ReadonlyMap<JsonNode, string>;
}

/** For a body that counts as it is. */
export const noChanges: BodyChanges = { leftOut: new Set(), texts: new Map() };

/** The changes that a policy's options make to this body. */
export function bodyChanges(
  body: RequestBody,
  { ignoreBody, normalize }: KeyOptions,
  { model, stream }: Pick<Profile, 'model' | 'stream'>,
): BodyChanges {
  const normalized = normalizer(normalize);
  if (ignoreBody.length === 0 && normalized === null) return noChanges;
  // An operator's endpoint has a member of its own for each of these.
  const kept = [model, stream].map((place) => (place.from === 'body' ? place.member : null));
  const pointers = ignoreBody.map((text) => parsePointer(text) ?? []).filter(([first = null]) => !kept.includes(first));
  return {
    leftOut: new Set(pointers.flatMap((pointer) => nodesAt(body, pointer))),
    texts: normalized === null ? noChanges.texts : normalizedTexts(body, normalized),
  };
}

/** All texts of messages, the unchanged ones too: then one spelling serves for all. */
function normalizedTexts(body: RequestBody, normalized: (text: string) => string): Map<JsonNode, string> {
  const texts = new Map<JsonNode, string>();
  for (const node of messageTexts(body)) texts.set(node, normalized(body.document.text(node)));
  return texts;
}
