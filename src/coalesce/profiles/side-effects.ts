/**
 * Whether a call does more than answer: state that it makes or continues, and tools that act. Reads the profile's tables.
 */

import { kinds, type JsonDocument, type JsonNode } from '../key/json/document.ts';
import { isText, memberOf, type RequestBody } from '../key/request-body.ts';
import type { Profile, SideEffect } from './profile.ts';
import { areToolsOff, toolsOffered } from './tools.ts';

/** `tools` is the policy's word: may tools that the caller runs be offered? Tools that others run never may. */
export function hasSideEffects(body: RequestBody, profile: Profile, tools: 'bypass' | 'allow'): boolean {
  if (profile.sideEffects.some((effect) => occurs(body, effect))) return true;
  const offered = toolsOffered(body, profile.tools);
  if (offered === 'unsafe') return true;
  return tools === 'bypass' && offered === 'caller_runs' && !areToolsOff(body, profile.tools);
}

function occurs({ document, members }: RequestBody, effect: SideEffect): boolean {
  const node = members.get(effect.member);
  if (node === undefined) return effect.kind === 'member' && !effect.harmless.includes('absent');
  switch (effect.kind) {
    case 'member':
      return !effect.harmless.some((word) => word !== 'absent' && document.kind(node) === kinds[word]);
    case 'word':
      return (
        isText(document, node, effect.word) ||
        itemsOf(document, node).some((item) => isText(document, item, effect.word))
      );
    case 'item':
      return itemsOf(document, node).some((item) => isUnsafeItem(document, item, effect));
  }
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

function itemsOf(document: JsonDocument, node: JsonNode): JsonNode[] {
  return document.kind(node) === kinds.array ? document.items(node) : [];
}
