/**
 * What each of the two filters has to say itself: failing open, overrides, timeouts, namespaces, the mark.
 */
import { filtersOf, type Chain, type OurFilter } from '../chain.ts';
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import { markOf, ownNamespace } from '../http-filter.ts';
import { at, durationOf, firstSet, isSet, isTrueAt, items, textAt, textsOf, type Node } from '../node.ts';

const leastMessageTimeoutMs = 1000;
const defaultMessageTimeoutMs = 200;

/** What may stand in `processing_mode`, field by field; Envoy's own default of a field is `''`. */
const modes: readonly (readonly [field: string, allowed: readonly string[]])[] = [
  ['request_header_mode', ['', 'DEFAULT', 'SEND']],
  ['request_body_mode', ['', 'NONE']],
  ['request_trailer_mode', ['', 'DEFAULT', 'SKIP']],
  // Envoy's default is to send them.
  ['response_header_mode', ['SKIP']],
  ['response_body_mode', ['', 'NONE']],
  ['response_trailer_mode', ['', 'DEFAULT', 'SKIP']],
];

export function checkFilters(chain: Chain, expected: Expectations): Finding[] {
  return filtersOf(chain).flatMap((ours) => [
    ...openness(ours),
    ...processingMode(ours),
    ...timeouts(ours, expected),
    ...metadata(ours),
  ]);
}

function openness({ filter: { config }, role }: OurFilter): Finding[] {
  const findings: Finding[] = [];
  if (!isTrueAt(config, 'failure_mode_allow')) findings.push(found('failing_closed', at(config, 'failure_mode_allow')));
  const ignored = ['observability_mode', 'disable_immediate_response'].filter((field) => isTrueAt(config, field));
  findings.push(...ignored.map((field) => found('answers_ignored', at(config, field), `remove ${field}`)));
  const rules = at(config, 'forward_rules');
  if (role === 'decide' && isSet(rules)) findings.push(found('headers_withheld', rules));
  return [...findings, ...overrides(config)];
}

/** With a list of allowed modes, Envoy takes only an override that equals one of them. */
function overrides(config: Node): Finding[] {
  const allow = at(config, 'allow_mode_override');
  if (allow.value !== true) return [found('mode_override_off', allow)];
  const list = at(config, 'allowed_override_modes');
  return items(list).length === 0 ? [] : [found('mode_override_off', list, 'remove allowed_override_modes')];
}

function processingMode({ filter: { config } }: OurFilter): Finding[] {
  const mode = at(config, 'processing_mode');
  const wrong = modes.filter(([field, allowed]) => !allowed.includes(textAt(mode, field) ?? ''));
  return wrong.map(([field, allowed]) => found('processing_mode', at(mode, field), `${field}: ${allowed.at(-1)}`));
}

function timeouts({ filter: { config }, role }: OurFilter, expected: Expectations): Finding[] {
  const findings: Finding[] = [];
  const message = at(config, 'message_timeout');
  if ((durationOf(message) ?? defaultMessageTimeoutMs) < leastMessageTimeoutMs) {
    findings.push(found('message_timeout_short', message));
  }
  const most = at(config, 'max_message_timeout');
  if (role === 'deliver' && (durationOf(most) ?? 0) <= expected.silenceMs) {
    const seconds = expected.silenceMs / 1000;
    findings.push(
      found(
        'max_message_timeout_short',
        most,
        `max_message_timeout: 3600s (over deadlines.wait and deadlines.first_byte: ${seconds}s)`,
      ),
    );
  }
  const call = at(config, 'grpc_service', 'timeout');
  if (isSet(call) && durationOf(call) !== 0) findings.push(found('grpc_timeout', call));
  return findings;
}

function metadata({ filter, role }: OurFilter): Finding[] {
  const findings: Finding[] = [];
  const { config } = filter;
  if (markOf(filter) === null) {
    const place = at(config, 'grpc_service', 'initial_metadata');
    findings.push(
      found('filter_metadata_missing', place, `initial_metadata: [{ key: x-coalesce-filter, value: ${role} }]`),
    );
  }
  const namespaces = (direction: string): Node => at(config, 'metadata_options', direction, 'untyped');
  const received = namespaces('receiving_namespaces');
  const forwarded = namespaces('forwarding_namespaces');
  if (!textsOf(received).includes(ownNamespace)) findings.push(found('namespace_not_received', received));
  if (role === 'deliver' && !textsOf(forwarded).includes(ownNamespace)) {
    findings.push(found('namespace_not_forwarded', forwarded));
  }
  const attributes = firstSet(config, 'request_attributes');
  if (role === 'decide' && !textsOf(attributes).includes('xds.route_name')) {
    findings.push(found('route_not_in_key', attributes));
  }
  return findings;
}
