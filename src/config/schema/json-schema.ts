/**
 * The configuration's definition as a JSON Schema, for editors: completion, defaults, and the mistakes that such a schema
 * can express. What holds between keys, and limits of durations, only `check` knows.
 */
import { parse } from 'yaml';

import { fileSchema } from '../definition.ts';
import { renderEffective } from '../effective.ts';
import { defaultConfig } from '../read.ts';
import type { JsonSchema } from '../values/scalars.ts';

/** JSON Schema draft 7, which editors' YAML servers read, as indented text. */
export function schemaText(): string {
  const defaults: unknown = parse(renderEffective(defaultConfig()));
  const title = 'envoy-coalescer configuration';
  return `${JSON.stringify({ title, ...withDefaults(fileSchema(), defaults) }, null, 2)}\n`;
}

/** Mappings get their members' defaults, everything else its own. */
function withDefaults(schema: JsonSchema, value: unknown): JsonSchema {
  const { properties } = schema;
  if (!isMembers(properties) || !isMembers(value)) return value === undefined ? schema : { ...schema, default: value };
  const filled = Object.entries(properties).map(([name, inner]) => {
    return [name, isMembers(inner) ? withDefaults(inner, value[name]) : inner] as const;
  });
  return { ...schema, properties: Object.fromEntries(filled) };
}

function isMembers(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
