/** Envoy's view of a request as the core's, and the ticket that decide left for deliver. */

import type { RequestHead } from '../coalesce/request/head.ts';
import type { EnvoyMessage } from './wire.ts';

type RequestHeaders = Extract<EnvoyMessage, { kind: 'requestHeaders' }>;

/** Envoy's attributes come under the filter's own name. */
const ATTRIBUTES = 'envoy.filters.http.ext_proc';

/** The namespace that decide writes and deliver reads. Only filters can write it, no client. */
const NAMESPACE = 'coalesce';

export function requestHeadOf(message: RequestHeaders): RequestHead {
  const { head, metadata } = message;
  const attributes = message.attributes.get(ATTRIBUTES);
  return {
    method: head.method,
    authority: head.authority,
    path: head.path,
    headers: head.headers,
    bodyFollows: !message.endOfStream,
    routeName: textIn(attributes, 'xds.route_name'),
    clusterName: textIn(attributes, 'xds.cluster_name'),
    metadata: (namespace) => metadata.get(namespace),
    attribute: (name) => valueIn(attributes, name),
  };
}

/** The ticket in the dynamic metadata; null where there is none or it is no text. */
export function ticketOf(message: RequestHeaders): string | null {
  return message.metadata.has() ? textIn(message.metadata.get(NAMESPACE), 'ticket') : null;
}

function textIn(struct: unknown, name: string): string | null {
  const value = valueIn(struct, name);
  return typeof value === 'string' ? value : null;
}

function valueIn(struct: unknown, name: string): unknown {
  if (typeof struct !== 'object' || struct === null || !Object.hasOwn(struct, name)) return undefined;
  return Reflect.get(struct, name);
}
