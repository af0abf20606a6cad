/**
 * What `doctor` can find, a closed list: how bad it is, what happens if it stays, and the line that mends it.
 */
export type Severity = 'error' | 'warning';

export const findingIds = [
  'filters_missing',
  'decide_missing',
  'deliver_missing',
  'filter_order',
  'filter_between',
  'failing_closed',
  'mode_override_off',
  'answers_ignored',
  'headers_withheld',
  'processing_mode',
  'message_timeout_short',
  'max_message_timeout_short',
  'grpc_timeout',
  'filter_metadata_missing',
  'namespace_not_received',
  'namespace_not_forwarded',
  'route_not_in_key',
  'policy_refused',
  'tenants_unreachable',
  'token_taken',
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
  'processor_open',
  'processor_tls',
  'processor_cluster_missing',
  'processor_google_grpc',
  'processor_not_http2',
  'processor_keepalive',
  'processor_requests_per_connection',
  'processor_circuit_breaker',
  'processor_pending_limit',
  'drain_time',
  'envoy_too_old',
  'envoy_vulnerable',
] as const;
export type FindingId = (typeof findingIds)[number];

export interface Entry {
  readonly severity: Severity;
  readonly consequence: string;
  readonly fix: string;
}

const tooLate = 'Callers that share an answer are answered by deliver, so this filter never sees them';

export const catalogue: Readonly<Record<FindingId, Entry>> = {
  filters_missing: error(
    'No HTTP connection manager here has the two filters: nothing is coalesced.',
    'paste http_filters of envoy/http-filters.yaml in front of the router; where listeners come from a control plane, use --admin',
  ),
  decide_missing: error(
    'deliver waits for tickets that only decide can give: nothing is coalesced.',
    'put coalesce.decide right in front of coalesce.deliver',
  ),
  deliver_missing: error(
    'decide gives tickets that nobody redeems: nothing is shared.',
    'put coalesce.deliver right behind coalesce.decide',
  ),
  filter_order: error(
    'deliver runs before decide has given a ticket: nothing is shared.',
    'move coalesce.deliver right behind coalesce.decide',
  ),
  filter_between: warning(
    'This filter works between the decision and the answer: what it does to a request is not in the key, and not in the shared call.',
    'move it in front of coalesce.decide, or behind coalesce.deliver',
  ),
  failing_closed: error(
    'A processor that is down, hung or late fails every request with 500 or 504, instead of costing nothing.',
    'failure_mode_allow: true',
  ),
  mode_override_off: error(
    'Envoy ignores that the processor asks for bodies and answers: nothing is shared, and a promoted caller is not followed.',
    'allow_mode_override: true',
  ),
  answers_ignored: error(
    'Envoy does not do what the processor answers: nothing is shared, nobody is shed.',
    'remove observability_mode and disable_immediate_response',
  ),
  headers_withheld: error(
    'Headers that the processor does not see are not in the key: requests that differ in them share one answer.',
    'remove forward_rules from coalesce.decide',
  ),
  processing_mode: error(
    'Bodies and responses are asked for per request. Asked for statically they change requests that are bypassed (413, chunked uploads) or hold each response up.',
    'processing_mode: { request_header_mode: SEND, request_body_mode: NONE, request_trailer_mode: SKIP, response_header_mode: SKIP, response_body_mode: NONE, response_trailer_mode: SKIP }',
  ),
  message_timeout_short: error(
    'A burst that loads the machine times out here and goes upstream all at once, just when sharing would help. Unset it is 200 ms.',
    'message_timeout: 5s',
  ),
  max_message_timeout_short: error(
    'Envoy gives up on callers that wait for a slow answer, and each goes upstream by itself. Unset, the wait cannot be lengthened at all.',
    'max_message_timeout: 3600s',
  ),
  grpc_timeout: error(
    'The stream to the processor is cut after this time, and with it the answer of every caller that still follows.',
    'timeout: 0s',
  ),
  filter_metadata_missing: error(
    'The processor cannot tell decide from deliver when one of them is skipped or fails open.',
    'initial_metadata: [{ key: x-coalesce-filter, value: decide }] (deliver on the other filter)',
  ),
  namespace_not_received: error(
    'Envoy drops what the processor says about an exchange: no ticket reaches deliver, no outcome the access log.',
    'metadata_options: { receiving_namespaces: { untyped: [coalesce] } }',
  ),
  namespace_not_forwarded: error(
    'The ticket does not reach the processor: callers that should share go upstream by themselves.',
    'metadata_options: { forwarding_namespaces: { untyped: [coalesce] } }',
  ),
  route_not_in_key: warning(
    'Routes and clusters are not part of the key. A header that is not in the key either may have chosen the route.',
    'request_attributes: [xds.route_name, xds.cluster_name]',
  ),
  policy_refused: error(
    'The processor refuses this policy: under it nothing is shared.',
    'a policy’s name, or JSON of what a policy may override',
  ),
  tenants_unreachable: error(
    'None of the policy’s tenant sources can reach the processor, so every request is bypassed as no_tenant.',
    'forward the namespace to decide (metadata_options.forwarding_namespaces.untyped), or change tenant.from',
  ),
  token_taken: warning(
    'jwt_authn takes this token away before decide, and its claims are no tenant: callers that bring nothing else are bypassed as no_tenant.',
    'payload_in_metadata: payload in this provider (its claims iss and sub are then the tenant), or forward: true',
  ),
  must_see_every_caller: error(
    `${tooLate}: they get the answer without being checked.`,
    'move it in front of coalesce.decide',
  ),
  code_behind: warning(`${tooLate}. What its code does is not known here.`, 'move it in front of coalesce.decide'),
  per_user_limit_behind: warning(`${tooLate}: they are not counted.`, 'move it in front of coalesce.decide'),
  compressor_behind: error(
    'The answer is compressed for the first caller, and those who share it get an encoding that they did not ask for.',
    'move the compressor in front of coalesce.decide: there it compresses for each caller',
  ),
  second_full_duplex: error(
    'Two ext_proc filters in FULL_DUPLEX_STREAMED on one chain truncate bodies (envoy#41654).',
    'use STREAMED or BUFFERED in one of them',
  ),
  half_disabled: error(
    'Here only one of the two filters is off. Without decide, deliver has no ticket; without deliver, tickets are given in vain.',
    'disable coalesce.decide and coalesce.deliver alike',
  ),
  route_timeout: error(
    'Answers that stream longer are cut, for everybody who shares them. Unset it is 15 s.',
    'timeout: 0s',
  ),
  route_timeout_unsure: warning(
    'If this route leads to a model, answers that stream longer are cut. Unset it is 15 s.',
    'timeout: 0s, or disable both filters on this route',
  ),
  stream_duration: error('Answers that take longer are cut, for everybody who shares them.', 'max_stream_duration: 0s'),
  request_bytes: error(
    'The processor asks for bodies that Envoy cannot hold: such a request hangs or is answered 413.',
    'request_body_buffer_limit as large as the processor’s limits.max_request_bytes',
  ),
  routes_unseen: warning(
    'These routes come from a control plane: what they do to coalescing cannot be checked.',
    'use --admin on the running Envoy',
  ),
  idle_timeout: warning(
    'A model that thinks in silence for longer loses its callers. Unset it is 300 s.',
    'stream_idle_timeout: 3600s',
  ),
  delayed_close: warning(
    'A cut answer reaches HTTP/1.1 clients this much later. Unset it is 1 s.',
    'delayed_close_timeout: 0s',
  ),
  processor_open: warning(
    'The processor listens where others reach it, without tls: whoever connects speaks for every tenant.',
    'tls: { cert: …, key: …, client_ca: … } in the processor’s configuration, or listen on the loopback address or a Unix socket',
  ),
  processor_tls: error(
    'The processor has tls and Envoy calls it in plain text: every call fails, so nothing is coalesced.',
    'a transport_socket with a certificate of the processor’s tls.client_ca, as in deploy/kubernetes/overlays/shared/envoy.yaml',
  ),
  processor_cluster_missing: error(
    'The filters call a cluster that is not here: its limits cannot be checked, and if it is nowhere, every request fails open.',
    'add the cluster of envoy/http-filters.yaml',
  ),
  processor_google_grpc: error(
    'This client has none of the limits that the processor needs (keepalive, requests per connection).',
    'grpc_service: { envoy_grpc: { cluster_name: coalescer } }',
  ),
  processor_not_http2: error(
    'gRPC needs HTTP/2: every call to the processor fails, so nothing is coalesced.',
    'explicit_http_config: { http2_protocol_options: {} }',
  ),
  processor_keepalive: error(
    'Callers that wait on a processor which hangs wait for ever.',
    'connection_keepalive: { interval: 5s, timeout: 5s }',
  ),
  processor_requests_per_connection: error(
    'Envoy ends each stream with a reset, and after 1,000 of them Node closes the connection: all exchanges on it fail open.',
    'max_requests_per_connection: 900',
  ),
  processor_circuit_breaker: error(
    'Followers beyond this number fail open all at once: a stampede on the upstream. Unset it is 1,024.',
    'max_requests: 100000',
  ),
  processor_pending_limit: warning(
    'While a connection to the processor is set up, callers beyond this number fail open. Unset it is 1,024.',
    'max_pending_requests: 100000',
  ),
  drain_time: error(
    'A changed listener or a hot restart cuts answers that stream longer than this.',
    '--drain-time-s as long as the processor’s deadlines.total',
  ),
  envoy_too_old: error(
    'Envoy before 1.37 cannot stream an answer from deliver: nothing is shared.',
    'run Envoy 1.37 or newer',
  ),
  envoy_vulnerable: error(
    'This version has published vulnerabilities that whoever reaches a listener can use.',
    'run the newest patch release of your Envoy’s minor version',
  ),
};

function error(consequence: string, fix: string): Entry {
  return { severity: 'error', consequence, fix };
}

function warning(consequence: string, fix: string): Entry {
  return { severity: 'warning', consequence, fix };
}
