/**
 * The canonical form of a request's body: one JSON text for all bodies that ask for the same answer (rules K3 to K7), and
 * never one for two that do not. What is noise is the profile's to say; here is only how it is left out.
 */

import type { Buffer } from 'node:buffer';
import type { Envelope, MemberRule, Profile } from '../profiles/profile.ts';
import { haveFoldedPair } from './case-fold.ts';
import { ByteSink } from './json/byte-sink.ts';
import { kinds, type JsonDocument, type JsonNode } from './json/document.ts';
import { spellExactly } from './json/number.ts';
import { writeString } from './json/string.ts';
import { sortByName, type NamedNodes } from './member-order.ts';
import { noChanges, type BodyChanges } from './options/body-changes.ts';
import type { RequestBody } from './request-body.ts';

export interface CanonicalOptions {
  readonly profile: Profile;
  /** Whether the profile's identity members are left out. */
  readonly ignoreIdentity: boolean;
  /** The effective stream mode. */
  readonly stream: boolean;
  /** What the policy takes out of the key; absent: nothing. */
  readonly changes?: BodyChanges;
}

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;

/** UTF-8. Where the body can say the stream mode, that stands last, whether the body says it or not. */
export function canonicalBody(body: RequestBody, options: CanonicalOptions): Buffer {
  const { document, members } = body;
  const { changes = noChanges } = options;
  const writer = new Writer(document, changes);
  const without = leftOut(options);
  const kept = [...members].filter(([name, value]) => !without.has(name) && !changes.leftOut.has(value));
  const named = { names: kept.map(([name]) => name), values: kept.map(([, value]) => value) };
  writer.envelope(inOneOrder(named), options.profile.root, streamText(options));
  return writer.sink.written();
}

function leftOut({ profile, ignoreIdentity }: CanonicalOptions): ReadonlySet<string> {
  const names = new Set<string>();
  if (profile.stream.from === 'body') names.add(profile.stream.member);
  if (ignoreIdentity) for (const { member } of profile.identity) names.add(member);
  return names;
}

function streamText({ profile, stream }: CanonicalOptions): string | null {
  return profile.stream.from === 'body' ? `"${profile.stream.member}":${String(stream)}` : null;
}

/**
 * Sorted by name; but where two names differ by case alone, as sent: to a reader that ignores case they are one member, and
 * the last one counts.
 */
function inOneOrder(members: NamedNodes): NamedNodes {
  return haveFoldedPair(members.names) ? members : sortByName(members);
}

class Writer {
  readonly sink: ByteSink;
  private readonly document: JsonDocument;
  private readonly changes: BodyChanges;

  constructor(document: JsonDocument, changes: BodyChanges) {
    this.document = document;
    this.changes = changes;
    this.sink = new ByteSink(document.bytes);
  }

  /** `extra` is a member that is written last as it stands. */
  envelope({ names, values }: NamedNodes, envelope: Envelope, extra: string | null): void {
    this.sink.byte(0x7b);
    for (let index = 0; index < names.length; index += 1) {
      if (index > 0) this.sink.byte(COMMA);
      this.member(values[index] ?? 0, envelope.members.get(names[index] ?? ''));
    }
    if (extra !== null) this.sink.text(names.length > 0 ? `,${extra}` : extra);
    this.sink.byte(0x7d);
  }

  private member(value: JsonNode, rule: MemberRule | undefined): void {
    this.string(value - 1); // a member's name stands before its value
    this.sink.byte(COLON);
    this.value(value, rule);
  }

  /** Recursive: the reader bounds the depth. */
  private value(node: JsonNode, rule: MemberRule | undefined): void {
    switch (this.document.kind(node)) {
      case kinds.plainString:
      case kinds.canonicalString:
      case kinds.escapedString:
        return this.string(node);
      case kinds.number:
        return rule?.float === undefined ? this.raw(node) : this.sink.text(spellExactly(this.document.lexeme(node)));
      case kinds.array:
        return this.array(node, rule?.items === undefined ? undefined : { object: rule.items });
      case kinds.object:
        return rule?.object === undefined ? this.object(node) : this.sorted(node, rule.object);
      case kinds.null:
      case kinds.true:
      case kinds.false:
        return this.raw(node);
    }
  }

  private array(array: JsonNode, itemRule: MemberRule | undefined): void {
    const end = this.document.after(array);
    this.sink.byte(0x5b);
    let isFirst = true;
    for (let node = array + 1; node < end; node = this.document.after(node)) {
      if (this.changes.leftOut.has(node)) continue;
      if (!isFirst) this.sink.byte(COMMA);
      isFirst = false;
      this.value(node, itemRule);
    }
    this.sink.byte(0x5d);
  }

  /** An object whose members' order is kept. */
  private object(object: JsonNode): void {
    const end = this.document.after(object);
    this.sink.byte(0x7b);
    let isFirst = true;
    for (let name = object + 1; name < end; name = this.document.after(name + 1)) {
      if (this.changes.leftOut.has(name + 1)) continue;
      if (!isFirst) this.sink.byte(COMMA);
      isFirst = false;
      this.member(name + 1, undefined);
    }
    this.sink.byte(0x7d);
  }

  private sorted(object: JsonNode, envelope: Envelope): void {
    const { document } = this;
    const end = document.after(object);
    const members: NamedNodes = { names: [], values: [] };
    for (let name = object + 1; name < end; name = document.after(name + 1)) {
      if (this.changes.leftOut.has(name + 1)) continue;
      members.names.push(document.name(name));
      members.values.push(name + 1);
    }
    this.envelope(inOneOrder(members), envelope, null);
  }

  private string(node: JsonNode): void {
    const { document, sink, changes } = this;
    const text = changes.texts.size === 0 ? undefined : changes.texts.get(node);
    if (text !== undefined) return sink.text(JSON.stringify(text));
    const start = document.start(node);
    const end = document.end(node);
    if (document.kind(node) !== kinds.escapedString) return sink.copy(start - 1, end + 1);
    sink.copy(start - 1, start);
    writeString(sink, document.bytes, { start, end });
    sink.byte(QUOTE);
  }

  private raw(node: JsonNode): void {
    this.sink.copy(this.document.start(node), this.document.end(node));
  }
}
