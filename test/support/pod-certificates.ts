/** What the Secrets of the shared overlay would hold, made for the test file that asks for it. */
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';
import { CertificateFolder } from './certificates.ts';

/** PEM by the path at which the pod has it. The files that they come from are gone when the test file's tests are over. */
export function podCertificates(): Readonly<Record<string, Buffer>> {
  const folder = new CertificateFolder();
  afterAll(() => folder.remove());
  const authority = folder.authority('authority');
  const { cert, key } = authority.issue('coalescer');
  return {
    '/etc/coalescer-tls/tls.crt': readFileSync(cert),
    '/etc/coalescer-tls/tls.key': readFileSync(key),
    '/etc/coalescer-tls/ca.crt': readFileSync(authority.cert),
  };
}
