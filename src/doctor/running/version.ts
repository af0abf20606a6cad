/** The version of a running Envoy, as `/server_info` says it. */

export interface EnvoyVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Of `<commit>/1.40.0/Clean/RELEASE/BoringSSL`; null for anything else. */
export function readVersion(text: string | null): EnvoyVersion | null {
  const [, major, minor, patch] = /\/(\d+)\.(\d+)\.(\d+)/.exec(text ?? '') ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return null;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}
