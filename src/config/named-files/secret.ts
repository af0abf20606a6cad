/** The secret that keys every digest: given in the file, or in one that it names. */
import type { Finding, KeyPath } from '../mistakes/mistakes.ts';
import { contentOf, type ReadFile } from './content.ts';

export const leastSecretBytes = 32;

export type SecretResult =
  { readonly kind: 'secret'; readonly secret: Buffer | null } | { readonly kind: 'finding'; readonly finding: Finding };

/** `text` is `key.secret`, `file` is `key.secret_file`; with neither the secret is null. */
export function readSecret(said: { text: string | null; file: string | null }, readFile: ReadFile): SecretResult {
  const { text, file } = said;
  if (text !== null) return longEnough(Buffer.from(text), ['key', 'secret']);
  if (file === null) return { kind: 'secret', secret: null };
  const path = ['key', 'secret_file'];
  const content = contentOf(file, readFile);
  if (content.kind === 'content') return longEnough(withoutLineEnd(content.bytes), path);
  return { kind: 'finding', finding: { path, message: content.message, onKey: false } };
}

function longEnough(secret: Buffer, path: KeyPath): SecretResult {
  if (secret.length >= leastSecretBytes) return { kind: 'secret', secret };
  const message = `holds ${secret.length} bytes, expected at least ${leastSecretBytes}`;
  return { kind: 'finding', finding: { path, message, onKey: false } };
}

/** Editors and `echo` end a file with a line end that nobody means as part of the secret. */
function withoutLineEnd(content: Buffer): Buffer {
  const end = content.at(-1) === 0x0a ? (content.at(-2) === 0x0d ? -2 : -1) : content.length;
  return content.subarray(0, end);
}
