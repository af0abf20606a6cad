/**
 * Header fields as Envoy takes them: as a map (a streamed head, trailers) and as a change to a head that Envoy holds.
 */
import type { HeaderList } from '../../coalesce/request/head.ts';
import { delimitedTag, varintTag } from './proto-reader.ts';
import type { ProtoWriter } from './proto-writer.ts';

/** envoy.config.core.v3.HeaderMap and HeaderValue. Values go into `raw_value`, which takes any bytes. */
const HEADER_MAP_HEADERS: number = delimitedTag(1);
const HEADER = { key: delimitedTag(1), rawValue: delimitedTag(3) };

/** A HeaderMap. */
export function writeHeaderMap(writer: ProtoWriter, tag: number, headers: HeaderList): void {
  writer.message(tag, () => {
    for (const field of headers.toReversed()) writeHeader(writer, HEADER_MAP_HEADERS, field);
  });
}

/** HeaderMutation, and envoy.config.core.v3.HeaderValueOption within it. */
const MUTATION = { setHeaders: delimitedTag(1), removeHeaders: delimitedTag(2) };
const OPTION = { header: delimitedTag(1), appendAction: varintTag(3) };
const APPEND_IF_EXISTS_OR_ADD = 0;
const OVERWRITE_IF_EXISTS_OR_ADD = 2;

/** A HeaderMutation: names in `set` replace what is there, names in `remove` go. */
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

function writeSet(writer: ProtoWriter, set: HeaderList, index: number): void {
  const field = set[index];
  if (field === undefined) return;
  writer.message(MUTATION.setHeaders, () => {
    writer.varint(OPTION.appendAction, appendAction(set, index));
    writeHeader(writer, OPTION.header, field);
  });
}

/** A name that comes again (`set-cookie`) replaces what was there with its first value and adds the others. */
function appendAction(headers: HeaderList, index: number): number {
  const name = headers[index]?.[0];
  const first = headers.findIndex(([candidate]) => candidate === name);
  return first === index ? OVERWRITE_IF_EXISTS_OR_ADD : APPEND_IF_EXISTS_OR_ADD;
}

function writeHeader(writer: ProtoWriter, tag: number, [name, value]: HeaderList[number]): void {
  writer.message(tag, () => {
    writer.latin1(HEADER.rawValue, value);
    writer.latin1(HEADER.key, name);
  });
}
