/**
 * What only a running Envoy says about itself, in `/server_info`: its version and its command line.
 */
import type { Expectations } from '../expectations.ts';
import { found, type Finding } from '../finding.ts';
import { at, durationOf, textAt, type Node } from '../node.ts';
import { readVersion, type EnvoyVersion } from './version.ts';
import { firstGoodPatch, vulnerabilitiesOf } from './vulnerabilities.ts';

const oldest = { major: 1, minor: 37 };
const defaultDrainMs = 600_000;

export function checkRunningEnvoy(serverInfo: unknown, { totalMs }: Expectations): Finding[] {
  const root: Node = { path: ['server_info'], value: serverInfo };
  const version = readVersion(textAt(root, 'version'));
  const findings = version === null ? [] : checkVersion(version, at(root, 'version'));
  const drain = at(root, 'command_line_options', 'drain_time');
  if ((durationOf(drain) ?? defaultDrainMs) < totalMs) {
    findings.push(found('drain_time', drain, `--drain-time-s ${Math.ceil(totalMs / 1000)} (deadlines.total)`));
  }
  return findings;
}

function checkVersion(version: EnvoyVersion, place: Node): Finding[] {
  if (isOld(version)) return [found('envoy_too_old', place)];
  const known = vulnerabilitiesOf(version);
  if (known.length === 0) return [];
  const { major, minor } = version;
  const reasons = known.map(({ id, effect }) => `${id}: ${effect}`).join('; ');
  return [
    found('envoy_vulnerable', place, `run Envoy ${major}.${minor}.${firstGoodPatch(version)} or newer (${reasons})`),
  ];
}

function isOld({ major, minor }: EnvoyVersion): boolean {
  return major < oldest.major || (major === oldest.major && minor < oldest.minor);
}
