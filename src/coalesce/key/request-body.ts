/**
 * A request's JSON body, read by its profile: the root members, the model, the effective stream mode, and a look at single values that does
 * not let one upstream see another value than we do (rules K1, K2 and the stream part of K6).
 */

import { isMisspelled } from '../profiles/known-names.ts';
import { matchPath } from '../profiles/path-pattern.ts';
import type { Profile } from '../profiles/profile.ts';
import { foldName } from './case-fold.ts';
import { kinds, type JsonDocument, type JsonNode } from './json/document.ts';
import { readJson } from './json/reader.ts';

export interface RequestBody {
  readonly document: JsonDocument;
  readonly members: ReadonlyMap<string, JsonNode>;
}

/** Null where the body is not one that every upstream reads alike. */
export function readBody(bytes: Uint8Array, profile: Profile): RequestBody | null {
  const reading = readJson(bytes);
  if (reading.kind === 'refused') return null;
  const { document } = reading;
  const members = new Map<string, JsonNode>();
  for (const { name, value } of document.members(document.root)) {
    const text = document.text(name);
    if (isMisspelled(text, profile.rootNames)) return null;
    members.set(text, value);
  }
  return { document, members };
}

/**
 * The value at a path of names from the root. Below the root, `ambiguous` where a name stands beside another spelling of
 * itself, or only that one is there: readers that ignore case then see something else.
 */
export function lookUp({ document, members }: RequestBody, path: readonly string[]): JsonNode | 'absent' | 'ambiguous' {
  const [first = '', ...rest] = path;
  let node: JsonNode | 'absent' | 'ambiguous' = members.get(first) ?? 'absent';
  for (const name of rest) {
    if (node === 'absent' || node === 'ambiguous') return node;
    node = memberOf(document, node, name);
  }
  return node;
}

/** As `lookUp`, for one member of any value. */
export function memberOf(document: JsonDocument, value: JsonNode, name: string): JsonNode | 'absent' | 'ambiguous' {
  if (document.kind(value) !== kinds.object) return 'absent';
  const folded = foldName(name);
  const candidates = document.members(value).filter((member) => foldName(document.text(member.name)) === folded);
  const [sole] = candidates;
  if (sole === undefined) return 'absent';
  return candidates.length === 1 && document.text(sole.name) === name ? sole.value : 'ambiguous';
}

/** Does the value say this text? */
export function isText(document: JsonDocument, node: JsonNode, text: string): boolean {
  return document.isString(node) && document.text(node) === text;
}

/** The model's name; null where it is missing, empty or no string. `path` is the request's raw path. */
export function modelOf(body: RequestBody, { model, paths }: Profile, path: string): string | null {
  if (model.from === 'path') return decodePart(matchPath(paths, path)?.groups?.['model']) ?? null;
  const node = body.members.get(model.member);
  if (node === undefined) return model.whenAbsent ?? null;
  return body.document.isString(node) ? body.document.text(node) || null : null;
}

/** A part of a path as it reads; as sent where it is broken. */
function decodePart(part: string | undefined): string | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The effective stream mode; null where the body says something that is no boolean. */
export function streamModeOf(body: RequestBody, { stream }: Profile): boolean | null {
  if (stream.from === 'endpoint') return stream.streams;
  const node = body.members.get(stream.member);
  if (node === undefined) return stream.whenAbsent;
  const kind = body.document.kind(node);
  if (kind === kinds.true) return true;
  return kind === kinds.false ? false : null;
}
