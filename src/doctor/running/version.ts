/** The version of a running Envoy, as `/server_info` says it. */

export interface EnvoyVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Built between two releases, as vendors do: what is mended in it cannot be told from its number. */
  readonly isDevelopment: boolean;
}

/** Of `<commit>/1.40.0/Clean/RELEASE/BoringSSL`, or `…/1.37.4-dev/…`; null for anything else. */
export function readVersion(text: string | null): EnvoyVersion | null {
  const [, major, minor, patch, suffix] = /\/(\d+)\.(\d+)\.(\d+)(-dev)?/.exec(text ?? '') ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return null;
  const isDevelopment = suffix !== undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), isDevelopment };
}
