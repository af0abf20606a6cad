/**
 * The head of one HTTP request as the core sees it. Owns no reading of the wire: `extproc/wire.ts` makes these.
 */

/**
 * Header fields in the order in which they arrived. Names are lower case and never start with a colon; values hold one
 * byte per UTF-16 unit (latin1), so that any value can be sent on unchanged.
 */
export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface RequestHead {
  readonly method: string;
  /** `:authority`, as sent. */
  readonly authority: string;
  /** `:path`, as sent: raw path and query. */
  readonly path: string;
  readonly headers: HeaderList;
  /** False where the request ends with its head. */
  readonly bodyFollows: boolean;
  /** Envoy's `xds.route_name` and `xds.cluster_name`; null where Envoy did not send them. */
  readonly routeName: string | null;
  readonly clusterName: string | null;
  /**
   * Dynamic metadata that other filters wrote, by namespace, as plain JSON values; undefined where there is none. Decoded
   * only when asked for.
   */
  readonly metadata: (namespace: string) => unknown;
  /** One of the `request_attributes` that Envoy sent, as a plain JSON value; undefined where it sent none of that name. */
  readonly attribute: (name: string) => unknown;
}

/** All values of one header, in order. `name` is lower case. */
export function headerValues(headers: HeaderList, name: string): string[] {
  const values: string[] = [];
  for (const [candidate, value] of headers) if (candidate === name) values.push(value);
  return values;
}

/** The value of a header that came exactly once; null where it is absent or came more than once. */
export function soleHeader(headers: HeaderList, name: string): string | null {
  const values = headerValues(headers, name);
  return values.length === 1 ? (values[0] ?? null) : null;
}
