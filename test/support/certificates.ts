/** Certificates that a test makes with the openssl of the system: authorities, and what they sign. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Paths of PEM files. */
export type Issued = { readonly cert: string; readonly key: string };

type Wanted = {
  /** As openssl writes it: `URI:spiffe://fleet/a`, `DNS:coalescer`. None: a subject alone. */
  readonly names?: string;
  readonly subject?: string;
  /** From today; 0: expired already. */
  readonly days?: number;
};

export type Authority = Issued & {
  /** Files of these names in the authority's folder; earlier ones are replaced. */
  readonly issue: (name: string, wanted?: Wanted) => Issued;
};

/** A folder of its own for what a test makes. */
export class CertificateFolder {
  readonly path: string = mkdtempSync(join(tmpdir(), 'envoy-coalescer-certificates-'));

  at(name: string): string {
    return join(this.path, name);
  }

  authority(name: string): Authority {
    const own = this.#own(name);
    const subject = ['-subj', `/CN=${name}`, '-days', '30'];
    openssl('req', '-x509', ...newKey, '-keyout', own.key, '-out', own.cert, ...subject);
    return { ...own, issue: (leaf, wanted = {}) => this.#issue(own, leaf, wanted) };
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #own(name: string): Issued {
    return { cert: this.at(`${name}.pem`), key: this.at(`${name}.key`) };
  }

  #issue(authority: Issued, name: string, { names, subject = `/CN=${name}`, days = 30 }: Wanted): Issued {
    const own = this.#own(name);
    const [request, extensions] = [this.at(`${name}.csr`), this.at(`${name}.ext`)];
    openssl('req', '-new', ...newKey, '-keyout', own.key, '-out', request, '-subj', subject);
    writeFileSync(extensions, names === undefined ? 'basicConstraints=CA:FALSE\n' : `subjectAltName=${names}\n`);
    const signer = ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial', '-extfile', extensions];
    openssl('x509', '-req', '-in', request, '-out', own.cert, '-days', String(days), ...signer);
    return own;
  }
}

/** One file of several, in order. */
export function bundle(...paths: readonly string[]): string {
  return paths.map((path) => readFileSync(path, 'utf8')).join('');
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
