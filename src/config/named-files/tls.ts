/**
 * `tls`: what the gRPC port proves itself with, and whom it lets in. Owns what can be wrong with the three files; what is
 * done with their content is the server's.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';

import type { Finding } from '../mistakes/mistakes.ts';
import { contentOf, type ReadFile } from './content.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  /** The certificate, and behind it those between it and its authority. */
  readonly cert: string;
  readonly key: string;
  /** The authorities whose certificates Envoys show. */
  readonly clientCa: string;
}

/** The files' content, which fits together. */
export interface Tls {
  readonly files: TlsFiles;
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly clientCa: Buffer;
}

export type TlsResult =
  { readonly kind: 'tls'; readonly tls: Tls } | { readonly kind: 'findings'; readonly findings: readonly Finding[] };

/** `now` is in milliseconds since 1970. */
export function readTls(files: TlsFiles, options: { readonly readFile: ReadFile; readonly now: number }): TlsResult {
  const findings: Finding[] = [];
  const report = (key: string, message: string): null => {
    findings.push({ path: ['tls', key], message, onKey: false });
    return null;
  };
  const read = (key: string, path: string): Buffer | null => {
    const content = contentOf(path, options.readFile);
    return content.kind === 'content' ? content.bytes : report(key, content.message);
  };
  const certificate = read('cert', files.cert);
  const key = read('key', files.key);
  const clientCa = read('client_ca', files.clientCa);
  const leaf = certificate === null ? null : certificateIn(certificate, (message) => report('cert', message));
  const privateKey = key === null ? null : keyIn(key, (message) => report('key', message));
  if (clientCa !== null) authoritiesIn(clientCa, (message) => report('client_ca', message));
  if (leaf !== null) reportAge(leaf, options.now, (message) => report('cert', message));
  if (leaf !== null && privateKey !== null && !leaf.checkPrivateKey(privateKey))
    report('key', 'does not belong to the certificate of tls.cert');
  if (findings.length > 0 || certificate === null || key === null || clientCa === null)
    return { kind: 'findings', findings };
  const trouble = troubleWith({ cert: certificate, key, ca: clientCa });
  if (trouble !== null) return { kind: 'findings', findings: [{ path: ['tls'], message: trouble, onKey: false }] };
  return { kind: 'tls', tls: { files, certificate, key, clientCa } };
}

type Report = (message: string) => null;

function certificateIn(pem: Buffer, report: Report): X509Certificate | null {
  const [first] = certificatesIn(pem);
  if (first === undefined) return report('holds no certificate, expected PEM with the server’s own first');
  return parsed(first) ?? report('holds a certificate that cannot be parsed');
}

function authoritiesIn(pem: Buffer, report: Report): void {
  const blocks = certificatesIn(pem);
  if (blocks.length === 0) report('holds no certificate, expected PEM of the authorities of Envoy’s certificates');
  if (blocks.some((block) => parsed(block) === null)) report('holds a certificate that cannot be parsed');
}

/** OpenSSL's own words are left out: they tell nothing of the key, nor anything that helps. */
function keyIn(pem: Buffer, report: Report): KeyObject | null {
  if (/ENCRYPTED/.test(pem.toString('latin1')))
    return report('is encrypted, expected a private key without passphrase');
  try {
    return createPrivateKey(pem);
  } catch {
    return report('holds no private key, expected PEM');
  }
}

function reportAge(leaf: X509Certificate, now: number, report: Report): void {
  if (Date.parse(leaf.validTo) < now) report(`expired on ${iso(leaf.validTo)}, expected one that is valid`);
  if (Date.parse(leaf.validFrom) > now) report(`is valid only from ${iso(leaf.validFrom)} on`);
}

function certificatesIn(pem: Buffer): string[] {
  return pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

function parsed(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** What TLS itself has against them, such as a key that is too short. */
function troubleWith(content: { cert: Buffer; key: Buffer; ca: Buffer }): string | null {
  try {
    createSecureContext(content);
    return null;
  } catch (error) {
    return `cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function iso(date: string): string {
  return new Date(date).toISOString();
}
