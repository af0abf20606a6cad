/**
 * Reads the `google.protobuf.Struct` that exchanges really carry: one level deep, strings only, in ASCII. That is what Envoy's
 * attributes are, and what decide leaves for deliver. Everything else is left to google-protobuf.
 */
import { ProtoReader, delimitedTag } from './proto-reader.ts';

/** google.protobuf.Struct, the entries of its map, and Value. */
const FIELDS: number = delimitedTag(1);
const KEY: number = delimitedTag(1);
const VALUE: number = delimitedTag(2);
const STRING_VALUE: number = delimitedTag(3);

/** The plain value; null where the bytes are not of this form, or not a Struct at all. Of two values the later counts. */
export function flatStruct(bytes: Uint8Array): Record<string, string> | null {
  const reader = new ProtoReader(bytes);
  const values: Record<string, string> = {};
  while (reader.more()) {
    if (reader.varint() !== FIELDS || !readEntry(reader, values)) return null;
  }
  return reader.fault === null ? values : null;
}

function readEntry(reader: ProtoReader, values: Record<string, string>): boolean {
  const outer = reader.enter();
  const key = reader.more() && reader.varint() === KEY ? reader.latin1() : null;
  const value = reader.more() && reader.varint() === VALUE ? readString(reader) : null;
  if (key === null || value === null || reader.more()) return false;
  reader.leave(outer);
  // Plain assignment to this name sets no member.
  if (key === '__proto__' || !isAscii(key) || !isAscii(value)) return false;
  values[key] = value;
  return true;
}

/** A Value that holds one string and nothing else. */
function readString(reader: ProtoReader): string | null {
  const outer = reader.enter();
  const text = reader.more() && reader.varint() === STRING_VALUE ? reader.latin1() : null;
  if (reader.more()) return null;
  reader.leave(outer);
  return text;
}

/** Of a text with one byte in each unit: then UTF-8 reads it as the same. */
function isAscii(text: string): boolean {
  return !/[\u0080-\u00ff]/.test(text);
}
