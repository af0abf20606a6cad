/**
 * What an answer of an unknown shape says, whatever chunks it came in: texts that belong together put together, and of
 * everything else the last word. Numbers of the moment are left out.
 */

import { memberOf } from './json-values.ts';

/** What an answer says: each a text that is the same for answers that say the same there. */
export interface Assembled {
  readonly text: string;
  /** Names and inputs of the tools that are to be called. */
  readonly tools: string;
  /** Why the answer ended. */
  readonly finish: string;
  /** Errors, and all that an answer of an unknown shape says. */
  readonly rest: string;
}

/** Members that a stream gives piece by piece. */
const pieces: ReadonlySet<string> = new Set([
  'text',
  'content',
  'delta',
  'thinking',
  'reasoning',
  'response',
  'refusal',
  'arguments',
  'partial_json',
  'tool_plan',
]);

/** Members that differ between two answers that say the same: names, instants, costs and padding of one call. */
const momentary: ReadonlySet<string> = new Set([
  ...['id', 'item_id', 'call_id', 'response_id', 'responseId', 'request_id', 'generation_id'],
  ...['created', 'created_at', 'completed_at', 'createTime', 'system_fingerprint', 'service_tier', 'modelVersion'],
  ...['usage', 'usageMetadata', 'metrics', 'amazon-bedrock-invocationMetrics', 'signature', 'thoughtSignature'],
  ...['total_duration', 'load_duration', 'prompt_eval_duration', 'eval_duration', 'prompt_eval_count', 'eval_count'],
  ...['sequence_number', 'obfuscation', 'p', 'logprobs', 'avgLogprobs', 'logprobsResult'],
]);

/** Deeper values are not looked into. */
const depthLimit = 64;

/** The same for two answers that say the same. */
export function everythingSaid(values: readonly unknown[]): string {
  const said = new Map<string, string>();
  for (const value of values) walk(value, { path: typeOf(value), name: '', depth: 0 }, said);
  return JSON.stringify([...said].sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Place {
  readonly path: string;
  /** Of the nearest member. */
  readonly name: string;
  readonly depth: number;
}

/** Events of different types say different things under one name. */
function typeOf(value: unknown): string {
  const type = memberOf(value, 'type');
  return typeof type === 'string' ? type : '';
}

function walk(value: unknown, place: Place, said: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) return say(value, place, said);
  if (place.depth === depthLimit) return say('too deep', place, said);
  for (const [name, member] of Object.entries(value)) {
    if (momentary.has(name)) continue;
    const own = Array.isArray(value) ? place.name : name;
    walk(member, { path: `${place.path}/${encodeURIComponent(name)}`, name: own, depth: place.depth + 1 }, said);
  }
}

function say(value: unknown, { path, name }: Place, said: Map<string, string>): void {
  if (typeof value === 'string' && pieces.has(name)) said.set(path, (said.get(path) ?? '') + value);
  else said.set(path, JSON.stringify(value));
}
