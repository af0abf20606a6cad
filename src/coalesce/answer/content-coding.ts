/** Bodies without their content coding (RFC 9110, section 8.4): what a caller asked for need not be readable here. */

import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

const decoders: Readonly<Record<string, (body: Uint8Array, options: { maxOutputLength: number }) => Uint8Array>> = {
  identity: (body) => body,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/** Null where the coding is unknown or broken, or where more than `limitBytes` come out of it. */
export function decodedBody(body: Uint8Array, coding: string, limitBytes: number): Uint8Array | null {
  const name = coding.trim().toLowerCase();
  const decode = Object.hasOwn(decoders, name === '' ? 'identity' : name) ? decoders[name || 'identity'] : undefined;
  if (decode === undefined) return null;
  try {
    return decode(body, { maxOutputLength: limitBytes });
  } catch {
    // Broken data and data without end look alike: neither can be compared.
    return null;
  }
}
