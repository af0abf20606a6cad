/**
 * The file's `policies`: each a match and what it says other than the file's own policy. Read after that one is known,
 * because it is what they are built on.
 */
import { z } from 'zod';

import type { NamedPolicy, PolicyMatch } from '../../coalesce/request/policy-choice.ts';
import type { Policy } from '../../coalesce/request/policy.ts';
import { findingsOf, type Finding } from '../mistakes/mistakes.ts';
import {
  overrideShape,
  policyContentOf,
  policyNamed,
  type PolicyContent,
  type PolicyOverrides,
} from '../policy-definition.ts';
import { nonEmptyText, scalar, shown, type JsonSchema } from '../values/scalars.ts';

export interface NamedPolicies {
  /** In the file's order; those with mistakes are missing. */
  readonly policies: readonly NamedPolicy[];
  readonly findings: readonly Finding[];
}

/** What Envoy calls the file's own policy, and what one that it spells out is called. */
export const reservedNames: { readonly base: string; readonly inline: string } = { base: 'default', inline: 'inline' };

/** Begins with a letter: a mapping of names that are whole numbers does not keep its order. */
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** The value of `policies`, with `base` for what they do not say. */
export function readPolicies(base: Policy, data: unknown, known: readonly string[]): NamedPolicies {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return { policies: [], findings: [finding([], `${shown(data)} is not a mapping of names to policies`)] };
  }
  const policies: NamedPolicy[] = [];
  const findings: Finding[] = [];
  const overrides = namedPolicy(base);
  for (const [name, value] of Object.entries(data)) {
    const fault = faultInName(name);
    if (fault !== null) findings.push({ ...finding([name], fault), onKey: true });
    const parsed = overrides.safeParse(value ?? {}, { reportInput: true });
    if (!parsed.success) {
      findings.push(...findingsOf(parsed.error.issues, known, ['policies', name]));
      continue;
    }
    const { match, ...rest } = parsed.data;
    const policy = policyNamed(name, policyContentOf(rest));
    const twin = match === null ? undefined : policies.find((other) => isSameMatch(other.match, match));
    if (twin !== undefined)
      findings.push(
        finding([name, 'match'], `is the match of policies.${twin.policy.name} too, which comes first and always wins`),
      );
    policies.push({ policy, match });
  }
  return { policies, findings };
}

/** What of a mapping of names to `entry` JSON Schema can express. */
export function policiesSchema(entry: JsonSchema): JsonSchema {
  const names = { pattern: NAME.source, not: { enum: Object.values(reservedNames) } };
  return { type: 'object', propertyNames: names, additionalProperties: { anyOf: [entry, { type: 'null' }] } };
}

/** As the configuration writes it. */
export function renderMatch({ pathPrefix, authority, route }: PolicyMatch): Record<string, string> {
  return {
    ...(pathPrefix === null ? {} : { path_prefix: pathPrefix }),
    ...(authority === null ? {} : { authority }),
    ...(route === null ? {} : { route }),
  };
}

/** One entry, for its keys. */
export function namedPolicy(base: PolicyContent): z.ZodType<{ match: PolicyMatch | null } & PolicyOverrides> {
  return z.strictObject({ match: match.nullable().default(null), ...overrideShape(base) });
}

const match: z.ZodType<PolicyMatch> = z
  .strictObject({
    path_prefix: pathPrefix().optional(),
    authority: nonEmptyText().optional(),
    route: nonEmptyText().optional(),
  })
  .transform((read, context): PolicyMatch => {
    if (Object.keys(read).length === 0) {
      context.addIssue({ code: 'custom', message: 'empty, expected at least one of path_prefix, authority, route' });
      return z.NEVER;
    }
    const { path_prefix: prefix = null, authority = null, route = null } = read;
    return { pathPrefix: prefix, authority: authority?.toLowerCase() ?? null, route };
  })
  .meta({ minProperties: 1 });

function pathPrefix(): z.ZodType<string> {
  const path = /^\/[^?#\s]*$/;
  const read = (value: unknown): string | null => (typeof value === 'string' && path.test(value) ? value : null);
  return scalar('a path such as /v1/', read, { type: 'string', pattern: path.source });
}

function faultInName(name: string): string | null {
  if (name === reservedNames.base || name === reservedNames.inline) return 'a name that is taken, expected another';
  return NAME.test(name) ? null : 'not a name, expected letters, digits, dots, hyphens and a letter in front';
}

function isSameMatch(left: PolicyMatch | null, right: PolicyMatch): boolean {
  return left?.pathPrefix === right.pathPrefix && left.authority === right.authority && left.route === right.route;
}

function finding(path: readonly string[], message: string): Finding {
  return { path: ['policies', ...path], message, onKey: false };
}
