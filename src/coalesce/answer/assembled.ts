/**
 * What a whole answer says, so that two answers can be compared however they were cut into chunks. Its shape is told by the
 * answer itself: an operator's endpoint answers like the known ones.
 */

import { createHash } from 'node:crypto';

import { everythingSaid, type Assembled } from './any-values.ts';
import { areChatChoices, assembleChoices } from './chat-choices.ts';
import { jsonValues } from './json-values.ts';
import { areMessageBlocks, assembleBlocks } from './message-blocks.ts';

/** In what two answers differ. */
export type Difference = 'status' | keyof Assembled;

/** Digests in the place of what was said: nothing of it is kept. */
export type Fingerprint = Readonly<Record<Difference, string>>;

const parts = ['status', 'text', 'tools', 'finish', 'rest'] as const;

/** `body` without any content coding. */
export function fingerprint(answer: { status: string; contentType: string; body: Uint8Array }): Fingerprint {
  const { text, tools, finish, rest } = assemble(answer.body, answer.contentType);
  return {
    status: answer.status,
    text: digestOf(text),
    tools: digestOf(tools),
    finish: digestOf(finish),
    rest: digestOf(rest),
  };
}

/** The first part in which they differ; null: they say the same. */
export function differenceOf(left: Fingerprint, right: Fingerprint): Difference | null {
  return parts.find((part) => left[part] !== right[part]) ?? null;
}

/** Whether a body of this type is text that can be taken apart: Amazon's event stream is none. */
export function isReadable(contentType: string): boolean {
  return /^\s*(text\/|application\/([\w.+-]*json|[\w.-]*ndjson|jsonl)\b)/i.test(contentType);
}

function assemble(body: Uint8Array, contentType: string): Assembled {
  const { values, others } = jsonValues(body, contentType);
  const said = assembleValues(values);
  return others.length === 0 ? said : { ...said, rest: JSON.stringify([said.rest, others]) };
}

function assembleValues(values: readonly unknown[]): Assembled {
  if (areChatChoices(values)) return assembleChoices(values);
  if (areMessageBlocks(values)) return assembleBlocks(values);
  return { text: '', tools: '', finish: '', rest: everythingSaid(values) };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
