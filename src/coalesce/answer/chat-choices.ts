/** What OpenAI's chat completions and completions say, whole (`message`, `text`) or in pieces (`delta`). */

import { everythingSaid, type Assembled } from './any-values.ts';
import { itemsOf, memberOf } from './json-values.ts';

interface Choice {
  readonly texts: Map<string, string>;
  readonly tools: Map<number, { name: string; input: string }>;
  finish: string | null;
}

const textMembers = ['content', 'refusal', 'reasoning', 'reasoning_content'] as const;

export function areChatChoices(values: readonly unknown[]): boolean {
  return values.some((value) => Array.isArray(memberOf(value, 'choices')));
}

export function assembleChoices(values: readonly unknown[]): Assembled {
  const choices = new Map<number, Choice>();
  for (const value of values) {
    for (const [position, part] of itemsOf(memberOf(value, 'choices')).entries()) addTo(choices, part, position);
  }
  const inOrder = [...choices].sort(([a], [b]) => a - b);
  return {
    text: JSON.stringify(inOrder.map(([index, { texts }]) => [index, [...texts].sort(([a], [b]) => (a < b ? -1 : 1))])),
    tools: JSON.stringify(inOrder.map(([index, { tools }]) => [index, [...tools.values()]])),
    finish: JSON.stringify(inOrder.map(([index, { finish }]) => [index, finish])),
    rest: everythingSaid(values.map((value) => memberOf(value, 'error') ?? null)),
  };
}

function addTo(choices: Map<number, Choice>, part: unknown, position: number): void {
  const index = numberOr(memberOf(part, 'index'), position);
  const choice = choices.get(index) ?? { texts: new Map(), tools: new Map(), finish: null };
  choices.set(index, choice);
  const message = memberOf(part, 'message') ?? memberOf(part, 'delta');
  for (const name of textMembers) append(choice.texts, name, memberOf(message, name));
  append(choice.texts, 'text', memberOf(part, 'text'));
  for (const [place, call] of itemsOf(memberOf(message, 'tool_calls')).entries()) addTool(choice, call, place);
  const single = memberOf(message, 'function_call');
  if (single !== undefined && single !== null) addTool(choice, { function: single }, -1);
  const finish = memberOf(part, 'finish_reason');
  if (typeof finish === 'string') choice.finish = finish;
}

/** An empty text says no more than an absent one: a stream begins with one, a whole answer need not. */
function append(texts: Map<string, string>, name: string, value: unknown): void {
  if (value === undefined || value === null || value === '') return;
  texts.set(name, (texts.get(name) ?? '') + (typeof value === 'string' ? value : everythingSaid([value])));
}

/** Ids of calls are random: name and input say what is called. */
function addTool({ tools }: Choice, call: unknown, position: number): void {
  const index = numberOr(memberOf(call, 'index'), position);
  const tool = tools.get(index) ?? { name: '', input: '' };
  tools.set(index, tool);
  const said = memberOf(call, 'function') ?? memberOf(call, 'custom');
  tool.name += textOr(memberOf(said, 'name'));
  tool.input += textOr(memberOf(said, 'arguments') ?? memberOf(said, 'input'));
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
