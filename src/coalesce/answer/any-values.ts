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

/** What is said at one place, and at those below it. Places are not named by their paths: those can be as long as the answer. */
interface Place {
  said: string | null;
  /** By name; made with the first. */
  below: Map<string, Place> | null;
}

/** The same for two answers that say the same. */
export function everythingSaid(values: readonly unknown[]): string {
  const root: Place = { said: null, below: null };
  // Events of different types say different things under one name.
  for (const value of values) walk(value, placeBelow(root, typeOf(value)), { name: '', depth: 0 });
  return JSON.stringify(inOrder(root));
}

function typeOf(value: unknown): string {
  const type = memberOf(value, 'type');
  return typeof type === 'string' ? type : '';
}

/** `name` is the nearest member's. */
function walk(value: unknown, place: Place, { name, depth }: { name: string; depth: number }): void {
  if (typeof value !== 'object' || value === null || isNumbers(value)) return say(value, place, name);
  if (depth === depthLimit) return say('too deep', place, name);
  for (const [key, member] of Object.entries(value)) {
    if (momentary.has(key)) continue;
    walk(member, placeBelow(place, key), { name: Array.isArray(value) ? name : key, depth: depth + 1 });
  }
}

/** An embedding has thousands: it is said as one. */
function isNumbers(value: object): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'number');
}

function placeBelow(place: Place, name: string): Place {
  place.below ??= new Map<string, Place>();
  const known = place.below.get(name);
  if (known !== undefined) return known;
  const made: Place = { said: null, below: null };
  place.below.set(name, made);
  return made;
}

function say(value: unknown, place: Place, name: string): void {
  if (typeof value === 'string' && pieces.has(name)) place.said = (place.said ?? '') + value;
  else place.said = JSON.stringify(value);
}

/** Whatever order the answer named them in; null where nothing is said. */
function inOrder({ said, below }: Place): readonly unknown[] | null {
  const places = [...(below ?? [])]
    .map(([name, place]) => [name, inOrder(place)] as const)
    .filter(([, place]) => place !== null)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return said === null && places.length === 0 ? null : [said, places];
}
