/** An Envoy that shows a certificate to the processor, and wants the processor's in turn. */
import { readFileSync } from 'node:fs';
import { clusterNamed, type EnvoyConfig } from '../../harness/stack.ts';
import type { Issued } from './certificates.ts';

/** `shows`: null for an Envoy that has no certificate of its own. */
export function connectByTls(config: EnvoyConfig, options: { trusts: string; shows: Issued | null }): void {
  const { trusts, shows } = options;
  const inline = (path: string): { inline_string: string } => ({ inline_string: readFileSync(path, 'utf8') });
  const certificates =
    shows === null ? [] : [{ certificate_chain: inline(shows.cert), private_key: inline(shows.key) }];
  clusterNamed(config, 'coalescer')['transport_socket'] = {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: {
        tls_certificates: certificates,
        validation_context: {
          trusted_ca: inline(trusts),
          match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: 'coalescer' } }],
        },
      },
    },
  };
}
