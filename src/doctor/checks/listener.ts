/**
 * What a connection manager does to every answer that passes it, on the ingress and on the egress.
 */
import type { ConnectionManager } from '../deployment.ts';
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import { at, durationOf } from '../node.ts';

export function checkListener({ listener, node }: ConnectionManager, { totalMs }: Expectations): Finding[] {
  if (listener === null) return [];
  const findings: Finding[] = [];
  const close = at(node, 'delayed_close_timeout');
  if (durationOf(close) !== 0) findings.push(found('delayed_close', close));
  const most = at(node, 'common_http_protocol_options', 'max_stream_duration');
  const mostMs = durationOf(most) ?? 0;
  if (mostMs > 0 && mostMs < totalMs) findings.push(found('stream_duration', most));
  return findings;
}
