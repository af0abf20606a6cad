/** A reply's dynamic metadata as Envoy takes it: one `google.protobuf.Struct` with the namespace `coalesce`. */
import { delimitedTag, fixed64Tag } from './proto-reader.ts';
import type { ProtoWriter } from './proto-writer.ts';

/** Dynamic metadata in the namespace `coalesce`. */
export type Metadata = Readonly<Record<string, string | number>>;

/** Bytes that spare most replies with metadata a second allocation. */
export const METADATA_ROOM = 160;

/** envoy.service.ext_proc.v3.ProcessingResponse */
const DYNAMIC_METADATA: number = delimitedTag(8);
/** google.protobuf.Struct: a map<string, Value>, whose entry is {key = 1, value = 2}. */
const STRUCT_FIELDS: number = delimitedTag(1);
const ENTRY = { key: delimitedTag(1), value: delimitedTag(2) };
const VALUE = { number: fixed64Tag(2), string: delimitedTag(3), struct: delimitedTag(5) };
const NAMESPACE = 'coalesce';

/** The Struct {coalesce: {…}}. Written by hand: google-protobuf takes seven times as long for this one fixed shape. */
export function writeMetadata(writer: ProtoWriter, metadata: Metadata | undefined): void {
  if (metadata === undefined) return;
  writer.message(DYNAMIC_METADATA, () => {
    writeEntry(writer, NAMESPACE, () => {
      writer.message(VALUE.struct, () => {
        for (const [key, value] of Object.entries(metadata).toReversed()) {
          writeEntry(writer, key, () => {
            if (typeof value === 'number') writer.double(VALUE.number, value);
            else writer.utf8(VALUE.string, value);
          });
        }
      });
    });
  });
}

function writeEntry(writer: ProtoWriter, key: string, value: () => void): void {
  writer.message(STRUCT_FIELDS, () => {
    writer.message(ENTRY.value, value);
    writer.utf8(ENTRY.key, key);
  });
}
