/**
 * Whether a call does more than answer: tools that act, state that is made or continued. Reads the profile's tables.
 */

import { kinds, type JsonDocument, type JsonNode } from '../key/json/document.ts';
import { lookUp, memberOf, type RequestBody } from '../key/request-body.ts';
import type { Profile, SideEffect, ToolList, ToolRules } from './profile.ts';

/** `tools` is the policy's word: may tools that the caller runs be offered? Tools that others run never may. */
export function hasSideEffects(body: RequestBody, profile: Profile, tools: 'bypass' | 'allow'): boolean {
  if (profile.sideEffects.some((effect) => occurs(body, effect))) return true;
  const offered = profile.tools.lists.map((list) => toolsIn(body, list));
  if (offered.includes('unsafe')) return true;
  return tools === 'bypass' && offered.includes('caller_runs') && !areToolsOff(body, profile.tools);
}

function occurs({ document, members }: RequestBody, { member, harmless, only }: SideEffect): boolean {
  const node = members.get(member);
  if (node === undefined) return false;
  if (only !== undefined) return saysText(document, node, only);
  const kind = document.kind(node);
  return !harmless.some((word) => kind === kinds[word]);
}

/** Whether the value is this text, or an array that holds it. */
function saysText(document: JsonDocument, node: JsonNode, text: string): boolean {
  if (document.kind(node) === kinds.array) return document.items(node).some((item) => isText(document, item, text));
  return isText(document, node, text);
}

type Offered = 'none' | 'caller_runs' | 'unsafe';

function toolsIn({ document, members }: RequestBody, list: ToolList): Offered {
  const node = members.get(list.member);
  if (node === undefined || document.kind(node) === kinds.null) return 'none';
  if (document.kind(node) !== kinds.array) return 'unsafe';
  const tools = document.items(node);
  if (tools.length === 0) return 'none';
  return tools.every((tool) => doesCallerRun(document, tool, list)) ? 'caller_runs' : 'unsafe';
}

function doesCallerRun(document: JsonDocument, tool: JsonNode, { callerRuns, typeless }: ToolList): boolean {
  if (document.kind(tool) !== kinds.object) return false;
  if (callerRuns === null) return true;
  const type = memberOf(document, tool, 'type');
  if (type === 'ambiguous') return false;
  if (type === 'absent' || document.kind(type) === kinds.null) return typeless === 'caller_runs';
  return callerRuns.some((known) => isText(document, type, known));
}

function areToolsOff(body: RequestBody, { choice }: ToolRules): boolean {
  const node = lookUp(body, choice);
  return node !== 'absent' && node !== 'ambiguous' && isText(body.document, node, 'none');
}

function isText(document: JsonDocument, node: JsonNode, text: string): boolean {
  return document.isString(node) && document.text(node) === text;
}
