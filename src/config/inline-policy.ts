/**
 * The policy that Envoy names or spells out per filter or route, in the gRPC metadata `x-coalesce-policy`. Read with
 * the pieces of the file's definition; what it does not say comes from the base policy.
 */
import { z } from 'zod';

import type { NamedPolicy } from '../coalesce/request/policy-choice.ts';
import type { Policy } from '../coalesce/request/policy.ts';
import { knownKeys } from './definition.ts';
import { keysOf } from './mistakes/keys.ts';
import { dottedPath, findingsOf, printPath } from './mistakes/mistakes.ts';
import type { Finding } from './mistakes/mistakes.ts';
import { overrideShape, policyContentOf, policyNamed } from './policy-definition.ts';
import { policyConflicts } from './policy/conflicts.ts';
import { reservedNames } from './policy/named-policies.ts';
import { shown } from './values/scalars.ts';
import { readSource } from './source.ts';

export type PolicyResult =
  { readonly kind: 'policy'; readonly policy: Policy } | { readonly kind: 'mistake'; readonly message: string };

/** Longer than what an operator writes; the text comes from Envoy's configuration, not from a client. */
const longestText = 16_384;
const remembered = 64;

/** The policy that a text (JSON or YAML) makes of `base`, or every mistake in it as one message. */
export function inlinePolicy(base: Policy, text: string): PolicyResult {
  if (text.length > longestText) return mistake(`longer than ${longestText} characters`);
  const source = readSource(text);
  const [broken] = source.mistakes;
  if (broken !== undefined) return mistake(`${printPath(broken.path)}: ${broken.message}`);
  const { data } = source;
  if (typeof data === 'string') return mistake(`no policy of the name ${shown(data)}`);
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return mistake(`${shown(data)} is neither a policy's name nor a mapping of keys`);
  }
  return readOverrides(base, data);
}

/**
 * The policies that Envoy can name or spell out, each text read once: `default` is the base, and `named` have names of
 * their own. At most 64 texts are remembered, the oldest is forgotten first.
 */
export function policyBook(base: Policy, named: readonly NamedPolicy[]): (text: string) => PolicyResult {
  const byName = new Map<string, PolicyResult>([[base.name, { kind: 'policy', policy: base }]]);
  for (const { policy } of named) byName.set(policy.name, { kind: 'policy', policy });
  const read = new Map<string, PolicyResult>();
  return (text) => {
    const known = byName.get(text) ?? read.get(text);
    if (known !== undefined) return known;
    const result = inlinePolicy(base, text);
    if (read.size >= remembered) for (const oldest of [...read.keys()].slice(0, 1)) read.delete(oldest);
    read.set(text, result);
    return result;
  };
}

function readOverrides(base: Policy, data: object): PolicyResult {
  const overrides = z.strictObject(overrideShape(base));
  const parsed = overrides.safeParse(data, { reportInput: true });
  if (parsed.success) {
    const policy = policyNamed(reservedNames.inline, policyContentOf(parsed.data));
    const [conflict] = policyConflicts(policy);
    if (conflict === undefined) return { kind: 'policy', policy };
    return mistake(`${printPath(conflict.path)}: ${conflict.message}`);
  }
  const ofTheFile = new Set(knownKeys());
  const findings = findingsOf(parsed.error.issues, keysOf(overrides));
  return mistake(findings.map((finding) => printFinding(finding, ofTheFile)).join('; '));
}

function printFinding({ path, message, onKey }: Finding, ofTheFile: ReadonlySet<string>): string {
  const known = onKey && ofTheFile.has(dottedPath(path));
  return `${printPath(path)}: ${known ? 'belongs in the configuration file, not in a policy' : message}`;
}

function mistake(message: string): PolicyResult {
  return { kind: 'mistake', message };
}
