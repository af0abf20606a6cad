/** What ties a ticket to the exchange that it was made for, so that no other exchange can use it. */

import { headerValues, type RequestHead } from '../coalesce/request/head.ts';

/**
 * A text that is the same for one exchange at both filters and differs between exchanges: Envoy's own `x-request-id`,
 * with method, authority and path, which no filter between the two may change. `fleet`: whose Envoy says so.
 */
export function ticketBinding(head: RequestHead, fleet: string | null): string {
  return JSON.stringify([fleet, head.method, head.authority, head.path, headerValues(head.headers, 'x-request-id')]);
}
