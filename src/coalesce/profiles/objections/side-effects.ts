/**
 * Whether a call does more than answer: state that it makes or continues, and tools that act. Reads the profile's tables.
 */

import { kinds, type JsonDocument, type JsonNode } from '../../key/json/document.ts';
import { isText, lookUp, memberOf, type RequestBody } from '../../key/request-body.ts';
import type { Profile, SideEffect } from '../profile.ts';
import { areToolsOff, toolsOffered } from './tools.ts';

/**
 * The first member that does more than ask, and what it does; null: none. `tools` is the policy's word: may tools that the
 * caller runs be offered? Tools that others run never may.
 */
export function sideEffectOf(body: RequestBody, profile: Profile, tools: 'bypass' | 'allow'): string | null {
  const effect = profile.sideEffects.find((candidate) => occurs(body, candidate));
  if (effect !== undefined) return `${placeOf(effect)}: ${effect.why}`;
  const offered = toolsOffered(body, profile.tools);
  if (offered.kind === 'none') return null;
  const place = `/${offered.list.path.join('/')}`;
  if (offered.kind === 'unsafe') return `${place}: a tool that the provider runs, or of an unknown kind`;
  if (tools === 'allow' || areToolsOff(body, profile.tools)) return null;
  return `${place}: functions, which tools: allow lets pass`;
}

function placeOf(effect: SideEffect): string {
  return `/${effect.kind === 'value' ? effect.path.join('/') : effect.member}`;
}

function occurs(body: RequestBody, effect: SideEffect): boolean {
  if (effect.kind === 'value') return doesHarm(body, effect);
  const { document, members } = body;
  const node = members.get(effect.member);
  if (node === undefined) return false;
  const items = document.kind(node) === kinds.array ? document.items(node) : [];
  if (effect.kind === 'item') return items.some((item) => isUnsafeItem(document, item, effect));
  return [node, ...items].some((value) => isText(document, value, effect.word));
}

function doesHarm(body: RequestBody, { path, harmless }: Extract<SideEffect, { kind: 'value' }>): boolean {
  const node = lookUp(body, path);
  if (node === 'ambiguous') return true;
  if (node === 'absent') return !harmless.includes('absent');
  return !harmless.some((word) => word !== 'absent' && body.document.kind(node) === kinds[word]);
}

function isUnsafeItem(
  document: JsonDocument,
  item: JsonNode,
  { types, unless }: Extract<SideEffect, { kind: 'item' }>,
): boolean {
  if (document.kind(item) !== kinds.object) return false;
  const type = memberOf(document, item, 'type');
  if (type === 'ambiguous') return true;
  if (type === 'absent' || document.kind(type) === kinds.null) return memberOf(document, item, unless) === 'absent';
  return types.some((unsafe) => isText(document, type, unsafe));
}
