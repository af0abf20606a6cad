/**
 * What `doctor` can find: a closed list, and a finding at its place. What each means is in `catalogue.ts`; where to look is
 * the checks' affair.
 */
import { catalogue } from './catalogue.ts';
import type { EnvoyPath, Node } from './node.ts';

export type Severity = 'error' | 'warning';

export const findingIds = [
  'filters_missing',
  'decide_missing',
  'deliver_missing',
  'filter_order',
  'filter_between',
  'failing_closed',
  'mode_override_off',
  'processing_mode',
  'message_timeout_short',
  'max_message_timeout_short',
  'grpc_timeout',
  'filter_metadata_missing',
  'namespace_not_received',
  'namespace_not_forwarded',
  'route_not_in_key',
  'tenants_unreachable',
  'must_see_every_caller',
  'code_behind',
  'per_user_limit_behind',
  'compressor_behind',
  'second_full_duplex',
  'half_disabled',
  'route_timeout',
  'route_timeout_unsure',
  'stream_duration',
  'request_bytes',
  'routes_unseen',
  'idle_timeout',
  'delayed_close',
  'processor_cluster_missing',
  'processor_google_grpc',
  'processor_not_http2',
  'processor_keepalive',
  'processor_requests_per_connection',
  'processor_circuit_breaker',
  'processor_pending_limit',
  'drain_time',
  'envoy_too_old',
] as const;
export type FindingId = (typeof findingIds)[number];

export interface Finding {
  readonly id: FindingId;
  readonly severity: Severity;
  /** Where the line stands that is wrong, or should stand. */
  readonly path: EnvoyPath;
  readonly consequence: string;
  readonly fix: string;
}

/** A finding at a place; `fix` says more exactly what the list says in general. */
export function found(id: FindingId, node: Node, fix?: string): Finding {
  const entry = catalogue[id];
  return { id, severity: entry.severity, path: node.path, consequence: entry.consequence, fix: fix ?? entry.fix };
}
