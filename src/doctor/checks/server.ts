/**
 * What only a running Envoy says about itself, in `/server_info`: its version and its command line.
 */
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import { at, durationOf, textAt, type Node } from '../node.ts';

const oldest = { major: 1, minor: 37 };
const defaultDrainMs = 600_000;

export function checkServer(serverInfo: unknown, { totalMs }: Expectations): Finding[] {
  const root: Node = { path: ['server_info'], value: serverInfo };
  const findings: Finding[] = [];
  const version = /\/(\d+)\.(\d+)\.\d+/.exec(textAt(root, 'version') ?? '');
  if (version !== null && isOld(Number(version[1]), Number(version[2]))) {
    findings.push(found('envoy_too_old', at(root, 'version')));
  }
  const drain = at(root, 'command_line_options', 'drain_time');
  if ((durationOf(drain) ?? defaultDrainMs) < totalMs) {
    findings.push(found('drain_time', drain, `--drain-time-s ${Math.ceil(totalMs / 1000)} (deadlines.total)`));
  }
  return findings;
}

function isOld(major: number, minor: number): boolean {
  return major < oldest.major || (major === oldest.major && minor < oldest.minor);
}
