/**
 * Captured requests in the notations in which people have them: HTTP as text, a HAR, JSON of one request, a list of those
 * or lines of those. Makes of each what Envoy would have shown to the processor.
 */
import type { HeaderList, RequestHead } from '../../coalesce/request/head.ts';
import type { PlainRequest } from './plain-request.ts';
import { readHttp } from './raw-http.ts';

export interface CapturedRequest {
  /** Where it comes from. */
  readonly label: string;
  readonly head: RequestHead;
  readonly body: Buffer;
  /** Whose Envoy it came from, where the processor has mTLS. */
  readonly fleet: string | null;
}

/** A whole URL: its authority, and its path and query as they stand. */
const ABSOLUTE = /^https?:\/\/([^/?#]*)([^#]*)/i;

/** All requests of a file; throws with what is wrong with it. */
export function readRequests(content: Buffer, file: string): CapturedRequest[] {
  const text = content.toString('utf8').trimStart();
  if (!text.startsWith('{') && !text.startsWith('[')) return [captured(readHttp(content), file)];
  const items = itemsOf(text);
  if (items.length === 0) throw new Error('holds no request');
  return items.map((item, index) => {
    const label = items.length === 1 ? file : `${file}#${index + 1}`;
    try {
      return captured(plainRequest(item), label);
    } catch (error) {
      throw new Error(`request ${index + 1}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  });
}

function itemsOf(text: string): unknown[] {
  const whole = attempt(text);
  if (whole === undefined) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    const items = lines.map(attempt);
    const broken = items.indexOf(undefined);
    if (broken !== -1) throw new Error(`neither JSON nor lines of JSON (line ${broken + 1})`);
    return items;
  }
  const entries = member(member(whole, 'log'), 'entries');
  if (Array.isArray(entries)) return entries;
  return Array.isArray(whole) ? whole : [whole];
}

/** Undefined where the text is no JSON. */
function attempt(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function plainRequest(item: unknown): PlainRequest {
  const har = member(item, 'request');
  return har === undefined ? ofJson(item) : ofHar(har);
}

function ofJson(item: unknown): PlainRequest {
  const method = member(item, 'method');
  const target = member(item, 'path');
  if (typeof method !== 'string' || typeof target !== 'string') throw new Error('expected method and path as texts');
  const authority = member(item, 'authority');
  return {
    ...{ method, target },
    headers: headersOf(member(item, 'headers') ?? {}),
    body: bodyOf(member(item, 'body'), member(item, 'body_base64')),
    ...(typeof authority === 'string' ? { authority } : {}),
    metadata: member(item, 'metadata'),
    attributes: member(item, 'attributes'),
    fleet: member(item, 'fleet'),
  };
}

function bodyOf(body: unknown, base64: unknown): Buffer {
  if (typeof base64 === 'string') return Buffer.from(base64, 'base64');
  if (body === undefined || body === null) return Buffer.alloc(0);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A mapping from names to a value or several, or a list of pairs. */
function headersOf(headers: unknown): HeaderList {
  if (typeof headers !== 'object' || headers === null)
    throw new Error('expected headers as a mapping or a list of pairs');
  const pairs: readonly unknown[] = Array.isArray(headers) ? headers : Object.entries(headers);
  return pairs.flatMap((pair) => {
    const [name, value]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    if (typeof name !== 'string') throw new Error('a header has no name');
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.map((one): HeaderList[number] => [name.toLowerCase(), bytesAsLatin1(String(one))]);
  });
}

/** http://www.softwareishard.com/blog/har-12-spec/#request */
function ofHar(request: unknown): PlainRequest {
  const method = member(request, 'method');
  const target = member(request, 'url');
  const headers = member(request, 'headers');
  if (typeof method !== 'string' || typeof target !== 'string') throw new Error('expected method and url as texts');
  const data = member(request, 'postData');
  const text = member(data, 'text');
  const isBase64 = member(data, 'encoding') === 'base64';
  const pairs = Array.isArray(headers)
    ? headers.map((header) => [member(header, 'name'), member(header, 'value')])
    : [];
  return {
    ...{ method, target },
    headers: headersOf(pairs),
    body: isBase64 ? bodyOf(undefined, text) : bodyOf(text, undefined),
  };
}

/** Envoy makes the authority of `host`, and knows pseudo-headers as what they are. */
function captured(request: PlainRequest, label: string): CapturedRequest {
  const { method, target, headers, body, metadata, attributes } = request;
  const [, urlAuthority, urlPath] = ABSOLUTE.exec(target) ?? [];
  const named = new Map(headers.filter(([name]) => name === 'host' || name === ':authority'));
  const head: RequestHead = {
    method,
    authority: request.authority ?? named.get(':authority') ?? named.get('host') ?? urlAuthority ?? '',
    path: urlPath === undefined ? target : urlPath.replace(/^(?!\/)/, '/'),
    headers: headers.filter(([name]) => name !== 'host' && !name.startsWith(':')),
    bodyFollows: body.length > 0,
    routeName: textOf(member(attributes, 'xds.route_name')),
    clusterName: textOf(member(attributes, 'xds.cluster_name')),
    metadata: (namespace) => member(metadata, namespace),
    attribute: (name) => member(attributes, name),
  };
  return { label, head, body, fleet: textOf(request.fleet) };
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function bytesAsLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
