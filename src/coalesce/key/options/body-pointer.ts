/**
 * JSON Pointers (RFC 6901) into bodies, with `*` for every name or index of one step: which values they name, and which
 * values no pointer may name.
 */

import { kinds, type JsonDocument, type JsonNode } from '../json/document.ts';
import type { RequestBody } from '../request-body.ts';

/** The steps from the root, unescaped. */
export type BodyPointer = readonly string[];

const EVERY = '*';

/** What an answer is an answer to. Whoever leaves these out of the key gives one caller's answer to another's question. */
const protectedPlaces: readonly (readonly [places: string, why: string])[] = [
  ['/model', 'names who answers'],
  [
    '/messages /message /chat_history /input /inputs /input_text /inputText /contents /content /requests /prompt /suffix',
    'is the question',
  ],
  ['/query /documents /texts /images /generateContentRequest /promptVariables', 'is the question'],
  ['/system /systemInstruction /system_instruction /instructions /preamble /template', 'is the question'],
  ['/chat_template /chat_template_kwargs /raw /context', 'is how the question is put'],
  ['/tools /tool_choice /toolConfig /tool_config /functions /function_call', 'says what the model may call'],
  ['/stream', 'decides the form of the answer'],
  ['/response_format /format /text/format /output_config/format /output_format', 'is a schema of the answer'],
  ['/generationConfig/responseSchema /generationConfig/responseJsonSchema', 'is a schema of the answer'],
  ['/generation_config/response_schema /generation_config/response_json_schema', 'is a schema of the answer'],
  ['/structured_outputs /guided_json /guided_regex /guided_choice /guided_grammar', 'is a schema of the answer'],
];

/** The steps of a pointer; null where the text is none. The empty pointer, the whole body, is none here. */
export function parsePointer(text: string): BodyPointer | null {
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return null;
  const steps = text.slice(1).split('/');
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Why this pointer must not be ignored: it names, holds or lies in something that is always part of the key; else null. */
export function whyProtected(pointer: BodyPointer): string | null {
  for (const [places, why] of protectedPlaces) {
    for (const place of places.split(' ')) if (meet(pointer, place.slice(1).split('/'))) return `${place} ${why}`;
  }
  const schema = pointer.find((step) => /schema$/i.test(step));
  return schema === undefined ? null : `${schema} is a schema`;
}

/** The values that a pointer names in this body. */
export function nodesAt({ document }: RequestBody, pointer: BodyPointer): JsonNode[] {
  let nodes: JsonNode[] = pointer.length === 0 ? [] : [document.root];
  for (const step of pointer) nodes = nodes.flatMap((node) => childrenAt(document, node, step));
  return nodes;
}

/** Whether one of them could lie on the way to the other. */
function meet(pointer: BodyPointer, place: readonly string[]): boolean {
  const shared = Math.min(pointer.length, place.length);
  return place.slice(0, shared).every((step, index) => pointer[index] === EVERY || pointer[index] === step);
}

function childrenAt(document: JsonDocument, node: JsonNode, step: string): JsonNode[] {
  if (document.kind(node) === kinds.array) {
    if (step !== EVERY && !/^(?:0|[1-9]\d*)$/.test(step)) return [];
    const items = document.items(node);
    return step === EVERY ? items : items.slice(Number(step), Number(step) + 1);
  }
  if (document.kind(node) !== kinds.object) return [];
  const members = document.members(node).filter(({ name }) => step === EVERY || document.text(name) === step);
  return members.map(({ value }) => value);
}
