/** What Anthropic's messages say, whole (`type: message`) or as events (`message_start`, `content_block_delta`, …). */

import { everythingSaid, type Assembled } from './any-values.ts';
import { itemsOf, memberOf } from './json-values.ts';

interface Block {
  /** As it came whole or began. */
  readonly begun: unknown;
  text: string;
  /** A tool's input in pieces of JSON. */
  input: string;
}

export function areMessageBlocks(values: readonly unknown[]): boolean {
  const type = memberOf(values[0], 'type');
  return type === 'message_start' || (type === 'message' && Array.isArray(memberOf(values[0], 'content')));
}

export function assembleBlocks(values: readonly unknown[]): Assembled {
  const blocks = new Map<number, Block>();
  const finish: unknown[] = [];
  const errors: unknown[] = [];
  for (const value of values) {
    for (const [index, block] of itemsOf(memberOf(value, 'content')).entries()) begin(blocks, index, block);
    addEvent(blocks, value);
    const end = memberOf(value, 'type') === 'message_delta' ? memberOf(value, 'delta') : value;
    if (memberOf(end, 'stop_reason') !== undefined) {
      finish.push(memberOf(end, 'stop_reason'), memberOf(end, 'stop_sequence') ?? null);
    }
    if (memberOf(value, 'type') === 'error') errors.push(memberOf(value, 'error'));
  }
  const inOrder = [...blocks.values()];
  return {
    text: JSON.stringify(inOrder.filter(isText).map(({ begun, text }) => [memberOf(begun, 'type'), text])),
    tools: JSON.stringify(inOrder.filter((block) => !isText(block)).map(toolSaid)),
    finish: everythingSaid([finish]),
    rest: everythingSaid(errors),
  };
}

function addEvent(blocks: Map<number, Block>, value: unknown): void {
  const index = memberOf(value, 'index');
  if (typeof index !== 'number') return;
  if (memberOf(value, 'type') === 'content_block_start') return begin(blocks, index, memberOf(value, 'content_block'));
  const block = blocks.get(index);
  const delta = memberOf(value, 'delta');
  if (block === undefined || delta === undefined) return;
  block.text += textOf(memberOf(delta, 'text')) + textOf(memberOf(delta, 'thinking'));
  block.input += textOf(memberOf(delta, 'partial_json'));
}

function begin(blocks: Map<number, Block>, index: number, begun: unknown): void {
  const text = textOf(memberOf(begun, 'text')) + textOf(memberOf(begun, 'thinking'));
  blocks.set(index, { begun, text, input: '' });
}

function isText({ begun }: Block): boolean {
  const type = memberOf(begun, 'type');
  return type === 'text' || type === 'thinking';
}

/** Ids of calls are random: everything but them says what is called. */
function toolSaid({ begun, input }: Block): readonly [string, string] {
  return [everythingSaid([begun]), input];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
