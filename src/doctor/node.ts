/**
 * Envoy's configuration as protobuf JSON, read tolerantly: every step into it yields a place, whether anything stands there
 * or not, so that a check can name what is missing. Knows both spellings of a field, and none of the fields.
 */

/** The keys that lead to a value; numbers are indexes of lists. */
export type EnvoyPath = readonly (string | number)[];

/** A place in a configuration; `value` is undefined where nothing stands. */
export interface Node {
  readonly path: EnvoyPath;
  readonly value: unknown;
}

/** The place below, step by step; fields are named in snake_case, as Envoy prints them. */
export function at(node: Node, ...steps: readonly (string | number)[]): Node {
  return steps.reduce<Node>(below, node);
}

/** The first of these fields that is set; the first one where none is. */
export function firstSet(node: Node, ...fields: readonly string[]): Node {
  const [preferred = '', ...others] = fields;
  return others.reduce<Node>((found, field) => (isSet(found) ? found : at(node, field)), at(node, preferred));
}

export function isSet({ value }: Node): boolean {
  return value !== undefined && value !== null;
}

/** The entries of a list; none where it is not a list. */
export function items(node: Node): Node[] {
  if (!Array.isArray(node.value)) return [];
  return node.value.map((value: unknown, index) => ({ path: [...node.path, index], value }));
}

/** The members of an object, under their names. */
export function members(node: Node): (readonly [name: string, node: Node])[] {
  if (!isRecord(node.value)) return [];
  return Object.entries(node.value).map(([name, value]) => [name, { path: [...node.path, name], value }] as const);
}

export function textAt(node: Node, ...steps: readonly (string | number)[]): string | null {
  const { value } = at(node, ...steps);
  return typeof value === 'string' ? value : null;
}

export function isTrueAt(node: Node, ...steps: readonly (string | number)[]): boolean {
  return at(node, ...steps).value === true;
}

/** A number; Envoy prints 64-bit ones as text. */
export function numberOf({ value }: Node): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : null;
}

/** Milliseconds of a duration as protobuf JSON writes it, `1.5s`. */
export function durationOf({ value }: Node): number | null {
  const match = typeof value === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(value) : null;
  return match === null ? null : Number(match[1]) * 1000;
}

/** All texts of a list. */
export function textsOf(node: Node): string[] {
  return items(node).flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
}

/** A path as reports print it: `static_resources.listeners[0].name`; names with dots stand in brackets. */
export function printEnvoyPath(path: EnvoyPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[\w-]+$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

function below({ path, value }: Node, step: string | number): Node {
  const [name, found] = typeof step === 'number' ? [step, entry(value, step)] : member(value, step);
  return { path: [...path, name], value: found };
}

function entry(value: unknown, index: number): unknown {
  return Array.isArray(value) ? (value[index] as unknown) : undefined;
}

/** Protobuf JSON takes a field under its own name and in camelCase. */
function member(value: unknown, field: string): readonly [name: string, value: unknown] {
  if (!isRecord(value)) return [field, undefined];
  const camel = field.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const name = Object.hasOwn(value, field) || !Object.hasOwn(value, camel) ? field : camel;
  return [name, Object.hasOwn(value, name) ? value[name] : undefined];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
