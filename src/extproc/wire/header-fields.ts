/**
 * Header fields as Envoy takes them: as a map (a streamed head, trailers) and as a change to a head that Envoy holds.
 */
import type { HeaderList } from '../../coalesce/request/head.ts';
import { delimitedTag, varintTag } from './protobuf/proto-reader.ts';
import type { ProtoWriter } from './protobuf/proto-writer.ts';

/** envoy.config.core.v3.HeaderMap and HeaderValue. Values go into `raw_value`, which takes any bytes. */
const HEADER_MAP_HEADERS: number = delimitedTag(1);
const HEADER = { key: delimitedTag(1), rawValue: delimitedTag(3) };

/**
 * A HeaderMap. Of several fields with one name Envoy keeps the last, so they become one list (RFC 9110, 5.3). `set-cookie`
 * cannot be a list: of several cookies the last arrives.
 */
export function writeHeaderMap(writer: ProtoWriter, tag: number, headers: HeaderList): void {
  writer.message(tag, () => {
    for (const field of combined(headers).toReversed()) writeHeader(writer, HEADER_MAP_HEADERS, field);
  });
}

function combined(headers: HeaderList): HeaderList {
  const values = new Map<string, string>();
  for (const [name, value] of headers) {
    const earlier = name === 'set-cookie' ? undefined : values.get(name);
    values.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  return [...values];
}

/** HeaderMutation, and envoy.config.core.v3.HeaderValueOption within it. */
const MUTATION = { setHeaders: delimitedTag(1), removeHeaders: delimitedTag(2) };
const OPTION = { header: delimitedTag(1), append: delimitedTag(2), appendAction: varintTag(3) };
const OVERWRITE_IF_EXISTS_OR_ADD = 2;
const BOOL_VALUE: number = varintTag(1);

/** A HeaderMutation: fields in `set` replace those of their names, names in `remove` go. */
export function writeHeaderMutation(
  writer: ProtoWriter,
  tag: number,
  { set, remove = [] }: { readonly set: HeaderList; readonly remove?: readonly string[] },
): void {
  writer.message(tag, () => {
    for (const name of remove.toReversed()) writer.latin1(MUTATION.removeHeaders, name);
    for (let index = set.length - 1; index >= 0; index -= 1) writeSet(writer, set, index);
  });
}

/** A guess at what these fields take on the wire, seldom too low. */
export function bytesOfHeaders(headers: HeaderList): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += name.length + value.length + HEADER_ROOM;
  return bytes;
}

const HEADER_ROOM = 16;

/** A name that comes again (`set-cookie`) replaces what was there with its first value and adds the others. */
function writeSet(writer: ProtoWriter, set: HeaderList, index: number): void {
  const field = set[index];
  if (field === undefined) return;
  writer.message(MUTATION.setHeaders, () => {
    if (isFirstOfItsName(set, index)) writer.varint(OPTION.appendAction, OVERWRITE_IF_EXISTS_OR_ADD);
    // Not APPEND_IF_EXISTS_OR_ADD, which is the default: Envoy's ext_proc filter overwrites by default, whatever its API says
    // of other filters, and adds only where the older `append` says so.
    else writer.message(OPTION.append, () => writer.varint(BOOL_VALUE, 1));
    writeHeader(writer, OPTION.header, field);
  });
}

function isFirstOfItsName(headers: HeaderList, index: number): boolean {
  const name = headers[index]?.[0];
  return headers.findIndex(([candidate]) => candidate === name) === index;
}

function writeHeader(writer: ProtoWriter, tag: number, [name, value]: HeaderList[number]): void {
  writer.message(tag, () => {
    writer.latin1(HEADER.rawValue, value);
    writer.latin1(HEADER.key, name);
  });
}
