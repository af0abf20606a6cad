/** Issuers of JSON Web Tokens (RFC 7519), and an Envoy that verifies them in front of decide and then takes them away. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { connectionManager, type EnvoyConfig } from '../../harness/stack.ts';

export interface Issuer {
  /** Its claim `iss`. */
  readonly name: string;
  /** A token with these claims and its `iss`. */
  readonly token: (claims: Readonly<Record<string, unknown>>) => string;
  /** The public key, as a JSON Web Key Set. */
  readonly keySet: string;
}

export function newIssuer(name: string, algorithm: 'RS256' | 'ES256'): Issuer {
  const { publicKey, privateKey } =
    algorithm === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const header = encoded({ alg: algorithm, typ: 'JWT', kid: name });
  return {
    name,
    token: (claims) => {
      const text = `${header}.${encoded({ iss: name, ...claims })}`;
      return `${text}.${signatureOf(text, privateKey)}`;
    },
    keySet: JSON.stringify({
      keys: [{ ...publicKey.export({ format: 'jwk' }), alg: algorithm, kid: name, use: 'sig' }],
    }),
  };
}

/**
 * Tokens of these issuers are verified and not passed on; a request without one passes, one with a false one does not. They
 * come as `authorization: Bearer` unless another header is named.
 */
export function withJwtAuthn(issuers: readonly Issuer[], header?: string): (config: EnvoyConfig) => void {
  const names = issuers.map((_, index) => `issuer-${index}`);
  const from = header === undefined ? {} : { from_headers: [{ name: header }] };
  const providers = issuers.map(({ name, keySet }, index) => [
    names[index],
    { issuer: name, local_jwks: { inline_string: keySet }, payload_in_metadata: 'payload', ...from },
  ]);
  const requirements = [...names.map((provider_name) => ({ provider_name })), { allow_missing: {} }];
  return (config) => {
    connectionManager(config, 'ingress').http_filters.unshift({
      name: 'envoy.filters.http.jwt_authn',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication',
        providers: Object.fromEntries(providers) as Record<string, unknown>,
        rules: [{ match: { prefix: '/' }, requires: { requires_any: { requirements } } }],
      },
    });
  };
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** ES256 has its two numbers side by side (RFC 7518, section 3.4), not in DER. */
function signatureOf(text: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}
