/**
 * Where the process listens: `host:port`, `[ipv6]:port` or `unix:/path`. Owns the notation; binding belongs to the
 * servers.
 */

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** `sun_path` of Linux holds 108 bytes with the closing zero. */
const socketPathLimitBytes = 107;

/** The address that a text names; null where it names none. */
export function parseAddress(text: string): Address | null {
  return text.startsWith('unix:') ? parseUnix(text.slice('unix:'.length)) : parseTcp(text);
}

/** The notation that `parseAddress` reads. */
export function formatAddress(address: Address): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

function parseUnix(path: string): Address | null {
  const usable = path.startsWith('/') && !path.includes('\0') && Buffer.byteLength(path) <= socketPathLimitBytes;
  return usable ? { kind: 'unix', path } : null;
}

function parseTcp(text: string): Address | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65_535 ? null : { kind: 'tcp', host, port };
}
