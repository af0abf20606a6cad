/** In what two requests differ: the first part of their keys that is not the same, and where in it. */
import { kinds, type JsonDocument, type JsonNode } from '../../coalesce/key/json/document.ts';
import { readJson } from '../../coalesce/key/json/reader.ts';
import type { Part } from '../../coalesce/key/digest.ts';
import type { KeyParts } from '../../coalesce/key/key.ts';
import type { Policy } from '../../coalesce/request/policy.ts';
import { tenantSourceName } from './names.ts';
import type { Explanation } from './explanation.ts';
import { shortened, shownHeader } from './secrets.ts';

export interface Difference {
  /** The name of a part of the key; `decision` where not both are eligible. */
  readonly part: string;
  /** What differs in it, in words; never a credential. */
  readonly what: string;
}

type Eligible = Extract<Explanation, { outcome: 'eligible' }>;

/** Null where both have one key, or both are bypassed. */
export function firstDifference(left: Explanation, right: Explanation): Difference | null {
  if (left.outcome === 'eligible' && right.outcome === 'eligible') return inParts(left, right);
  if (left.outcome === 'bypass' && right.outcome === 'bypass') return null;
  return { part: 'decision', what: [left, right].map(wordOf).join(' against ') };
}

function wordOf(explanation: Explanation): string {
  return explanation.outcome === 'bypass' ? `bypass (${explanation.reason})` : 'eligible';
}

function inParts(left: Eligible, right: Eligible): Difference | null {
  const names = Object.keys(left.parts) as (keyof KeyParts)[];
  const part = names.find((name) => !isSame(left.parts[name], right.parts[name]));
  return part === undefined ? null : { part, what: whatDiffers(part, left, right) };
}

function isSame(left: Part | Uint8Array, right: Part | Uint8Array): boolean {
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right) === 0;
  return JSON.stringify(left) === JSON.stringify(right);
}

function whatDiffers(part: keyof KeyParts, left: Eligible, right: Eligible): string {
  switch (part) {
    case 'tenant': {
      const [one, other] = [left, right].map(({ tenancy }) => tenantSourceName(tenancy.source));
      return one === other ? `another value of ${one}` : `${one} against ${other}`;
    }
    case 'headers':
      return headersDiffer(left.parts.headers, right.parts.headers, left.policy);
    case 'credentials':
      return 'another credential in the query';
    case 'include':
      return 'another value of what key.include names';
    case 'policy':
      return `${left.policy.name} against ${right.policy.name}`;
    case 'body':
      return bodiesDiffer(Buffer.from(left.parts.body), Buffer.from(right.parts.body));
    default:
      return [left.parts[part], right.parts[part]].map((value) => shortened(JSON.stringify(value))).join(' against ');
  }
}

function headersDiffer(left: Part, right: Part, policy: Policy): string {
  const [ours, theirs] = [fieldsOf(left), fieldsOf(right)];
  const index = ours.findIndex((field, at) => JSON.stringify(field) !== JSON.stringify(theirs[at]));
  const [one, other] = [ours[index === -1 ? ours.length : index], theirs[index === -1 ? ours.length : index]];
  const first = one === undefined || (other !== undefined && other[0] < one[0]) ? other : one;
  const name = first?.[0] ?? '';
  const values = [one, other].map((field) => (field?.[0] === name ? shownHeader(name, field[1], policy) : 'absent'));
  return `${name}: ${values[0] === values[1] ? 'another value' : values.join(' against ')}`;
}

function fieldsOf(part: Part): (readonly [name: string, value: string])[] {
  if (!Array.isArray(part)) return [];
  return part.map((field: Part) => (Array.isArray(field) ? [String(field[0]), String(field[1])] : ['', '']));
}

function bodiesDiffer(left: Buffer, right: Buffer): string {
  const [ours, theirs] = [readJson(left), readJson(right)];
  // What normalisers leave behind is no JSON that the reader takes.
  if (ours.kind === 'refused' || theirs.kind === 'refused') return firstOffset(left, right);
  return (
    placeOf([ours.document, theirs.document], [ours.document.root, theirs.document.root], '') ??
    firstOffset(left, right)
  );
}

function firstOffset(left: Buffer, right: Buffer): string {
  let at = 0;
  while (at < left.length && left[at] === right[at]) at += 1;
  return `at byte ${at} of the canonical body`;
}

type Two<Value> = readonly [left: Value, right: Value];

/** The first place where two values differ, as a pointer and in words; null where they are the same. */
function placeOf(documents: Two<JsonDocument>, nodes: Two<JsonNode>, path: string): string | null {
  const [left, right] = [documents[0].kind(nodes[0]), documents[1].kind(nodes[1])];
  if (left !== right || left < kinds.array) return scalarsDiffer(documents, nodes, path);
  const [ours, theirs] = [childrenOf(documents[0], nodes[0]), childrenOf(documents[1], nodes[1])];
  const [inLeft, inRight] = [ours, theirs].map((children) => new Set(children.map(({ name }) => name)));
  for (const [index, one] of ours.entries()) {
    const other = theirs[index];
    if (inRight?.has(one.name) !== true) return `${path}/${one.name}: only in the first`;
    if (other === undefined || inLeft?.has(other.name) !== true) break;
    if (one.name !== other.name) return `${path}: the order of ${one.name} and ${other.name}`;
    const inner = placeOf(documents, [one.value, other.value], `${path}/${one.name}`);
    if (inner !== null) return inner;
  }
  const more = theirs.find(({ name }) => inLeft?.has(name) !== true);
  return more === undefined ? null : `${path}/${more.name}: only in the second`;
}

function childrenOf(document: JsonDocument, node: JsonNode): { name: string; value: JsonNode }[] {
  if (document.kind(node) === kinds.array)
    return document.items(node).map((value, index) => ({ name: String(index), value }));
  return document.members(node).map(({ name, value }) => ({ name: document.text(name), value }));
}

function scalarsDiffer(documents: Two<JsonDocument>, nodes: Two<JsonNode>, path: string): string | null {
  const [left, right] = [textOf(documents[0], nodes[0]), textOf(documents[1], nodes[1])];
  return left === right ? null : `${path}: ${shortened(left)} against ${shortened(right)}`;
}

function textOf(document: JsonDocument, node: JsonNode): string {
  const kind = document.kind(node);
  if (kind === kinds.array) return 'a list';
  if (kind === kinds.object) return 'an object';
  const text = document.bytes.toString('utf8', document.start(node), document.end(node));
  return document.isString(node) ? `"${text}"` : text;
}
