/** Which tools a call offers to the model: none, such as the caller runs, or one that acts by itself. */

import { kinds, type JsonDocument, type JsonNode } from '../../key/json/document.ts';
import { isText, lookUp, memberOf, type RequestBody } from '../../key/request-body.ts';
import type { ToolList, ToolRules } from '../profile.ts';

type Kind = 'none' | 'caller_runs' | 'unsafe';

/** The worst that is offered, and in which list. */
export type Offered = { readonly kind: 'none' } | { readonly kind: Exclude<Kind, 'none'>; readonly list: ToolList };

export function toolsOffered(body: RequestBody, { lists }: ToolRules): Offered {
  let offered: Offered = { kind: 'none' };
  for (const list of lists) {
    const kind = toolsIn(body, list);
    if (kind === 'unsafe') return { kind, list };
    if (kind === 'caller_runs' && offered.kind === 'none') offered = { kind, list };
  }
  return offered;
}

/** Does the call say that the model may use none of the tools? */
export function areToolsOff(body: RequestBody, { choices }: ToolRules): boolean {
  const words = choices.map(({ path, off }) => {
    const node = lookUp(body, path);
    if (node === 'absent') return 'absent';
    return node !== 'ambiguous' && isText(body.document, node, off) ? 'off' : 'on';
  });
  return words.includes('off') && !words.includes('on');
}

function toolsIn(body: RequestBody, list: ToolList): Kind {
  const { document } = body;
  const node = lookUp(body, list.path);
  if (node === 'ambiguous') return 'unsafe';
  if (node === 'absent' || document.kind(node) === kinds.null) return 'none';
  if (document.kind(node) !== kinds.array) return 'unsafe';
  const tools = document.items(node);
  if (tools.length === 0) return 'none';
  return tools.every((tool) => doesCallerRun(document, tool, list)) ? 'caller_runs' : 'unsafe';
}

function doesCallerRun(document: JsonDocument, tool: JsonNode, list: ToolList): boolean {
  if (document.kind(tool) !== kinds.object) return false;
  switch (list.toldBy) {
    case 'nothing':
      return true;
    case 'members':
      return document.members(tool).every(({ name }) => list.callerRuns.includes(document.text(name)));
    case 'type':
      return isCallersType(document, tool, list);
  }
}

function isCallersType(
  document: JsonDocument,
  tool: JsonNode,
  { callerRuns, typeless }: Extract<ToolList, { toldBy: 'type' }>,
): boolean {
  const type = memberOf(document, tool, 'type');
  if (type === 'ambiguous') return false;
  if (type === 'absent' || document.kind(type) === kinds.null) return typeless === 'caller_runs';
  return callerRuns.some((known) => isText(document, type, known));
}
