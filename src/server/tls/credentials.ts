/**
 * What the gRPC port proves itself with and whom it lets in: plain text, or mTLS whose certificates can be renewed while
 * connections run. A connection keeps the ones with which it was made. Also who the peer of a stream is.
 */
import { experimental, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';

import type { Tls } from '../../config/named-files/tls.ts';
import type { Address } from '../../config/values/address.ts';

type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

/** The certificates of TLS, for grpc-js to ask and to be told of new ones. */
export class Certificates implements experimental.CertificateProvider {
  #tls: Tls;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();

  constructor(tls: Tls) {
    this.#tls = tls;
  }

  /** For connections from now on. */
  renew(tls: Tls): void {
    if (tls === this.#tls) return;
    this.#tls = tls;
    for (const listener of this.#caListeners) this.#tellCa(listener);
    for (const listener of this.#identityListeners) this.#tellIdentity(listener);
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    // Told at once, grpc-js would have nobody to hand it on to yet, and would take no connection for want of it.
    queueMicrotask(() => this.#tellCa(listener));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    queueMicrotask(() => this.#tellIdentity(listener));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
  }

  #tellCa(listener: CaListener): void {
    listener({ caCertificate: this.#tls.clientCa });
  }

  #tellIdentity(listener: IdentityListener): void {
    listener({ certificate: this.#tls.certificate, privateKey: this.#tls.key });
  }
}

/**
 * Of an address. A Unix socket stays plain: its file's mode says who may connect. Elsewhere nobody gets in without a
 * certificate of `tls.client_ca`, where there is TLS at all.
 */
export function credentialsFor(address: Address, certificates: Certificates | null): ServerCredentials {
  if (certificates === null || address.kind === 'unix') return ServerCredentials.createInsecure();
  return experimental.createCertificateProviderServerCredentials(certificates, certificates, true);
}

/**
 * Who the Envoy at the other end is, by its verified certificate: its alternative names (a SPIFFE id is one), else its
 * subject. The same from one certificate of a fleet to the next, and never the same for two fleets with names of their own.
 * Null without TLS.
 */
export function fleetOf(stream: Pick<ServerDuplexStream<unknown, unknown>, 'getAuthContext'>): string | null {
  const certificate = stream.getAuthContext().sslPeerCertificate;
  if (certificate === undefined) return null;
  const { subjectaltname: names, subject, fingerprint256 } = certificate;
  if (names !== undefined && names !== '') return `names ${names}`;
  return Object.keys(subject).length > 0 ? `subject ${JSON.stringify(subject)}` : `certificate ${fingerprint256}`;
}
