/**
 * Vulnerabilities of Envoy versions on which requests are coalesced: those that any caller can use where the two filters are
 * at home, on HTTP/2, upgrades, TLS and streams that end early. From Envoy's own release notes
 * (https://github.com/envoyproxy/envoy/tree/main/changelogs), not a list of all.
 */
import type { EnvoyVersion } from './version.ts';

export interface Vulnerability {
  /** Its CVE number. */
  readonly id: string;
  /** What an attacker reaches, to end a sentence. */
  readonly effect: string;
  /** The first good patch of each affected minor version of Envoy 1, by that minor version. */
  readonly fixedIn: ReadonlyMap<number, number>;
}

/** By the release that fixed them. */
const known: readonly Vulnerability[] = [
  {
    id: 'CVE-2026-26311',
    effect: 'data on a stream that was reset reaches filters that are gone (crash)',
    fixedIn: new Map([[37, 1]]),
  },
  {
    id: 'CVE-2026-47774',
    effect: 'HTTP/2 headers fill the memory',
    fixedIn: new Map([
      [37, 3],
      [38, 1],
    ]),
  },
  {
    id: 'CVE-2026-73513',
    effect: 'HTTP/2 trailers end the process',
    fixedIn: new Map([
      [37, 6],
      [38, 4],
    ]),
  },
  {
    id: 'CVE-2026-73548',
    effect: 'bytes behind an upgrade pass for the next caller’s request to the upstream',
    fixedIn: new Map([
      [37, 6],
      [38, 4],
    ]),
  },
  {
    id: 'CVE-2026-35189',
    effect: 'a TLS certificate fills the memory',
    fixedIn: new Map([
      [37, 7],
      [38, 5],
      [39, 2],
    ]),
  },
];

/** Those that a version has, oldest first. */
export function vulnerabilitiesOf(version: EnvoyVersion): readonly Vulnerability[] {
  const { major, minor, patch, isDevelopment } = version;
  if (major !== 1 || isDevelopment) return [];
  return known.filter(({ fixedIn }) => patch < (fixedIn.get(minor) ?? 0));
}

/** The first patch of a version's own line that has none of these. */
export function firstGoodPatch({ minor }: EnvoyVersion): number {
  return Math.max(0, ...known.map(({ fixedIn }) => fixedIn.get(minor) ?? 0));
}
