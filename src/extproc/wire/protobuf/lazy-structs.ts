/**
 * Named `google.protobuf.Struct`s as they came: attributes and metadata. Most exchanges look at none or one of them, so each
 * stays bytes until it is asked for; `flat-struct.ts` decodes the usual one then, google-protobuf every other.
 */
import structProto from 'google-protobuf/google/protobuf/struct_pb.js';

import { flatStruct } from './flat-struct.ts';
import { ProtoReader, delimitedTag } from './proto-reader.ts';

export interface LazyStructs {
  /** Whether any Struct is present. */
  has(): boolean;
  /** The Struct of that name as a plain value; undefined where there is none, or where it cannot be decoded. */
  get(name: string): unknown;
}

/** The structs in these entries of a `map<string, Struct>`, each still encoded. Of two with one name the later counts. */
export function lazyStructs(entries: readonly Uint8Array[]): LazyStructs {
  if (entries.length === 0) return NONE;
  return {
    has: () => true,
    get: (name) => {
      const wanted = Buffer.from(name);
      for (const entry of entries.toReversed()) {
        const struct = valueOfEntry(entry, wanted);
        if (struct !== null) return flatStruct(struct) ?? plainStruct(struct);
      }
      return undefined;
    },
  };
}

const NONE: LazyStructs = { has: () => false, get: () => undefined };

// A map entry is a message {key = 1, value = 2}: https://protobuf.dev/programming-guides/encoding/#maps
const KEY: number = delimitedTag(1);
const VALUE: number = delimitedTag(2);

function valueOfEntry(entry: Uint8Array, wanted: Buffer): Uint8Array | null {
  const reader = new ProtoReader(entry);
  let key: Buffer = Buffer.alloc(0);
  let value: Buffer = Buffer.alloc(0);
  while (reader.more()) {
    const tag = reader.varint();
    if (tag === KEY) key = reader.bytes();
    else if (tag === VALUE) value = reader.bytes();
    else reader.skip(tag);
  }
  return reader.fault === null && key.equals(wanted) ? value : null;
}

function plainStruct(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    return structProto.Struct.deserializeBinary(bytes).toJavaScript();
  } catch {
    // google-protobuf throws on bytes that are no Struct, on a Value that has none, and on nesting that exhausts the stack.
    // Whoever asked is told that there is nothing: a tenant or a policy is never read from half a value.
    return undefined;
  }
}
