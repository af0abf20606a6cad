/**
 * The part of the ext_proc codec that bench/codec/codec.ts needs, driven by hand on google-protobuf's reader and writer: a contender,
 * used nowhere else.
 */
import protobuf from 'google-protobuf';
import type { BinaryReader, BinaryWriter } from 'google-protobuf';

import type { HeaderList } from '../../src/coalesce/request/head.ts';

/** What was found in a ProcessingRequest; structs stay bytes. */
interface Found {
  headers: [string, string][];
  structs: Uint8Array[];
  body: Uint8Array | null;
  endOfStream: boolean;
}

export function decodeByGoogleProtobuf(bytes: Uint8Array): Found {
  const found: Found = { headers: [], structs: [], body: null, endOfStream: false };
  const reader = protobuf.BinaryReader.alloc(bytes);
  eachField(reader, (field) => {
    if (field === 2) inside(reader, (inner) => readHttpHeaders(reader, inner, found));
    else if (field === 4) inside(reader, (inner) => readBody(reader, inner, found));
    else if (field === 8) inside(reader, (inner) => (inner === 1 ? readStruct(reader, found) : reader.skipField()));
    else if (field === 9) readStruct(reader, found);
    else reader.skipField();
  });
  reader.free();
  return found;
}

function eachField(reader: BinaryReader, onField: (field: number) => void): void {
  while (reader.nextField()) onField(reader.getFieldNumber());
}

function inside(reader: BinaryReader, onField: (field: number) => void): void {
  reader.readMessage(null, () => eachField(reader, onField));
}

function readHttpHeaders(reader: BinaryReader, field: number, found: Found): void {
  if (field === 1) inside(reader, (inner) => (inner === 1 ? readHeader(reader, found) : reader.skipField()));
  else if (field === 3) found.endOfStream = reader.readBool();
  else reader.skipField();
}

function readHeader(reader: BinaryReader, found: Found): void {
  let name = '';
  let value = '';
  inside(reader, (field) => {
    if (field === 1) name = reader.readString();
    else if (field === 2 || field === 3) value = latin1(reader.readBytes());
    else reader.skipField();
  });
  found.headers.push([name, value]);
}

function readBody(reader: BinaryReader, field: number, found: Found): void {
  if (field === 1) found.body = reader.readBytes();
  else if (field === 2) found.endOfStream = reader.readBool();
  else reader.skipField();
}

function readStruct(reader: BinaryReader, found: Found): void {
  found.structs.push(reader.readBytes());
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

type Fields = (writer: BinaryWriter) => void;

function message(writer: BinaryWriter, field: number, fields: Fields): void {
  writer.writeMessage(field, writer, (_value, inner: BinaryWriter) => fields(inner));
}

function encoded(fields: Fields): Buffer {
  const writer = new protobuf.BinaryWriter();
  fields(writer);
  const bytes = writer.getResultBuffer();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** CONTINUE with dynamic metadata, in member 1 (head) or 3 (body), and all six modes where `override` says so. */
export function encodeContinueByGoogleProtobuf(
  member: number,
  metadata: Readonly<Record<string, string>>,
  override: boolean,
): Buffer {
  return encoded((writer) => {
    message(writer, member, () => undefined);
    message(writer, 8, (struct) => entry(struct, 'coalesce', (value) => message(value, 5, strings(metadata))));
    if (!override) return;
    message(writer, 9, (mode) => [1, 1, 2, 1, 2, 1].forEach((value, index) => mode.writeEnum(index + 1, value)));
  });
}

function strings(metadata: Readonly<Record<string, string>>): Fields {
  return (struct) => {
    for (const [key, text] of Object.entries(metadata)) entry(struct, key, (value) => value.writeString(3, text));
  };
}

function entry(writer: BinaryWriter, key: string, value: Fields): void {
  message(writer, 1, (pair) => {
    pair.writeString(1, key);
    message(pair, 2, value);
  });
}

export function encodeHeadByGoogleProtobuf(headers: HeaderList): Buffer {
  return encoded((writer) =>
    message(writer, 11, (streamed) =>
      message(streamed, 1, (head) =>
        message(head, 1, (map) => {
          for (const [name, value] of headers) {
            message(map, 1, (header) => {
              header.writeString(1, name);
              header.writeBytes(3, Buffer.from(value, 'latin1'));
            });
          }
        }),
      ),
    ),
  );
}

export function encodeChunkByGoogleProtobuf(bytes: Uint8Array): Buffer {
  return encoded((writer) =>
    message(writer, 11, (streamed) => message(streamed, 2, (body) => body.writeBytes(1, bytes))),
  );
}
