/** Explanations as text for people, and as lines of JSON for programs. Owns no facts. */
import { splitPath } from '../../coalesce/key/query.ts';
import type { Part } from '../../coalesce/key/digest.ts';
import type { Difference } from './difference.ts';
import type { Explanation } from './explanation.ts';
import { reasonsInWords, tenantSourceName } from './names.ts';
import { shortened, shownHeader, shownPath } from './secrets.ts';

export interface Context {
  /** Exactly two requests were given. */
  readonly isPair: boolean;
  readonly difference: Difference | null;
  /** The keys are those of `serve`. */
  readonly hasSecret: boolean;
}

type Eligible = Extract<Explanation, { outcome: 'eligible' }>;

export function printText(explanations: readonly Explanation[], context: Context): string {
  const blocks = explanations.map((explanation) => [
    `${explanation.request.label}: ${explanation.request.head.method} ${shownPath(explanation.request.head.path, explanation.policy)}`,
    ...(explanation.outcome === 'bypass' ? bypassLines(explanation) : eligibleLines(explanation, context)).map(indent),
  ]);
  if (context.isPair) blocks.push([pairLine(explanations, context.difference)]);
  return blocks.map((lines) => `${lines.join('\n')}\n`).join('\n');
}

/** One line each; the second of two says in what they differ. */
export function printJson(explanations: readonly Explanation[], { isPair, difference }: Context): string {
  return explanations
    .map((explanation, index) => {
      const { request, policy, outcome, profile } = explanation;
      const line = {
        request: request.label,
        outcome,
        reason: outcome === 'bypass' ? explanation.reason : null,
        detail: outcome === 'bypass' ? explanation.detail : null,
        ...(outcome === 'bypass' ? { key: null, tenant_source: null } : eligibleMembers(explanation)),
        policy: policy.name,
        mode: policy.mode,
        endpoint: profile?.name ?? null,
        ...(isPair && index === 1 ? { differs: difference } : {}),
      };
      return `${JSON.stringify(line)}\n`;
    })
    .join('');
}

function eligibleMembers(explanation: Eligible): Record<string, unknown> {
  return {
    key: explanation.key,
    tenant_source: tenantSourceName(explanation.tenancy.source),
    model: explanation.model,
    enforced: explanation.isEnforced,
    in_key: keyedLines(explanation).map(([part, value]) => ({ part, value })),
    ignored: explanation.ignored,
    canonical_body: Buffer.from(explanation.parts.body).toString('utf8'),
  };
}

function bypassLines({ reason, detail, policy, profile }: Extract<Explanation, { outcome: 'bypass' }>): string[] {
  return [
    `decision: bypass, ${reason}: ${reasonsInWords[reason] ?? 'only a running processor says so'}`,
    ...(detail === null ? [] : [`because of: ${detail}`]),
    `policy: ${policy.name}`,
    ...(profile === null ? [] : [`endpoint: ${profile.name}`]),
  ];
}

function eligibleLines(explanation: Eligible, { hasSecret }: Context): string[] {
  const { key, policy, profile, tenancy, model, ignored, parts } = explanation;
  const note = hasSecret ? '' : ' (no key.secret given: comparable with other keys of explain only)';
  const width = Math.max(...keyedLines(explanation).map(([name]) => name.length));
  return [
    `decision: eligible${sharingNote(explanation)}`,
    `policy: ${policy.name}`,
    `endpoint: ${profile.name}, model ${model}`,
    `tenant: ${tenantSourceName(tenancy.source)}`,
    `key: ${key}${note}`,
    'in the key:',
    ...keyedLines(explanation).map(([name, value]) => indent(`${name.padEnd(width)}  ${value}`)),
    'not in the key:',
    ...(ignored.length === 0
      ? ['  nothing']
      : ignored.map(({ place, name, why }) => indent(`${place} ${name}: ${why}`))),
    'canonical body:',
    indent(Buffer.from(parts.body).toString('utf8')),
  ];
}

function sharingNote({ isEnforced, policy }: Eligible): string {
  if (isEnforced) return '';
  return policy.mode === 'shadow'
    ? ', but mode: shadow only counts it'
    : `, but outside the rollout of ${policy.rollout} %`;
}

/** The parts of the key by name, as they may be shown. */
function keyedLines({ parts, policy, request, tenancy }: Eligible): (readonly [name: string, value: string])[] {
  const { parameters } = splitPath(shownPath(request.head.path, policy));
  return [
    ['format', String(parts.format)],
    ['tenant', `digest of ${tenantSourceName(tenancy.source)}`],
    ...(parts.fleet === null ? [] : [['fleet', String(parts.fleet)] as const]),
    ['method', String(parts.method)],
    ['authority', String(parts.authority)],
    ['path', String(parts.path)],
    ['query', parameters === null ? 'none' : parameters.map(({ name, value }) => `${name}=${value ?? ''}`).join('&')],
    ['route', String(parts.route ?? 'not sent by Envoy')],
    ['cluster', String(parts.cluster ?? 'not sent by Envoy')],
    ...listOf(parts.headers).map((field): readonly [string, string] => {
      const [name = '', value = ''] = listOf(field).map(String);
      return [`header ${name}`, shownHeader(name, value, policy)];
    }),
    ...policy.key.include.map((source, index): readonly [string, string] => {
      const name = source.kind === 'header' ? source.name : [source.namespace, ...source.path].join('.');
      const value = listOf(listOf(parts.include)[index] ?? null).at(-1) ?? null;
      const shown = JSON.stringify(value);
      return [
        `include ${source.kind} ${name}`,
        source.kind === 'header' ? shownHeader(name, shown, policy) : shortened(shown),
      ];
    }),
    ['policy', `epoch ${String(parts.policy)}`],
    ['profile', String(parts.profile)],
    ['body', `${parts.body.length} bytes, as below`],
  ];
}

function pairLine([left, right]: readonly Explanation[], difference: Difference | null): string {
  if (difference !== null)
    return `they do not share: the first part that differs is ${difference.part} (${difference.what})`;
  const shared = left?.outcome === 'eligible' && right?.outcome === 'eligible';
  return shared ? 'they have one key: they share where they are in flight together' : 'neither is shared';
}

function listOf(part: Part): readonly Part[] {
  return Array.isArray(part) ? part : [];
}

function indent(line: string): string {
  return `  ${line}`;
}
