/**
 * Where in a body the texts of messages stand: what people and models wrote. Never what tools took or gave, and never a
 * schema: there a space or an instant is data.
 */

import { kinds, type JsonDocument, type JsonNode } from '../json/document.ts';
import { memberOf, type RequestBody } from '../request-body.ts';

/** Root members that hold messages or texts: strings, messages, or lists of either. */
const textRoots: readonly string[] = [
  'system',
  'systemInstruction',
  'system_instruction',
  'instructions',
  'messages',
  'input',
  'prompt',
  'contents',
];

/** A part with another type is no text: a call, its result, a document. */
const textTypes: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text', 'message']);
/** Their content is what a tool gave. */
const toolRoles: ReadonlySet<string> = new Set(['tool', 'function']);

/** The strings, in no certain order. */
export function messageTexts({ document, members }: RequestBody): JsonNode[] {
  const found: JsonNode[] = [];
  for (const name of textRoots) {
    const root = members.get(name);
    if (root !== undefined) collect(document, root, found);
  }
  return found;
}

function collect(document: JsonDocument, node: JsonNode, found: JsonNode[]): void {
  if (document.isString(node)) found.push(node);
  else if (document.kind(node) === kinds.array)
    for (const item of document.items(node)) collectItem(document, item, found);
  else collectMessage(document, node, found);
}

/** An item is a text or a message; a list in a list holds token ids. */
function collectItem(document: JsonDocument, item: JsonNode, found: JsonNode[]): void {
  if (document.isString(item)) found.push(item);
  else collectMessage(document, item, found);
}

/** A message has its texts in `content` or `parts`; a block of a system prompt is itself a part. */
function collectMessage(document: JsonDocument, message: JsonNode, found: JsonNode[]): void {
  if (!hasTextType(document, message)) return;
  const role = textMember(document, message, 'role');
  if (role !== null && toolRoles.has(role)) return;
  collectText(document, message, found);
  for (const name of ['content', 'parts']) {
    const content = memberOf(document, message, name);
    if (typeof content !== 'number') continue;
    if (document.isString(content)) found.push(content);
    else if (document.kind(content) === kinds.array)
      for (const part of document.items(content))
        if (document.isString(part)) found.push(part);
        else if (hasTextType(document, part)) collectText(document, part, found);
  }
}

function collectText(document: JsonDocument, part: JsonNode, found: JsonNode[]): void {
  const text = memberOf(document, part, 'text');
  if (typeof text === 'number' && document.isString(text)) found.push(text);
}

/** Whether an object has no type, or one of a text. */
function hasTextType(document: JsonDocument, value: JsonNode): boolean {
  const type = memberOf(document, value, 'type');
  if (type === 'absent') return document.kind(value) === kinds.object;
  return type !== 'ambiguous' && document.isString(type) && textTypes.has(document.text(type));
}

function textMember(document: JsonDocument, value: JsonNode, name: string): string | null {
  const member = memberOf(document, value, name);
  return typeof member === 'number' && document.isString(member) ? document.text(member) : null;
}
