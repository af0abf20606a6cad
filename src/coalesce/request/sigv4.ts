/**
 * Who signed a request with AWS Signature Version 4. Reads the claim only: that the signature is right is for a gateway
 * before us to have verified.
 */

import { headerValues, type HeaderList } from './head.ts';

export interface Signature {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  /** Null for long-lived keys. */
  readonly sessionToken: string | null;
}

const SCHEME = /^AWS4-HMAC-SHA256\s+(.*)$/s;
const CREDENTIAL = /^Credential=([^/\s]+)\/\d{8}\/([^/\s]+)\/([^/\s]+)\/aws4_request$/;

/** `absent` where the request is not signed so; `uncertain` where it is not clear by whom. */
export function readSignature(headers: HeaderList): Signature | 'absent' | 'uncertain' {
  const [authorization, ...others] = headerValues(headers, 'authorization');
  if (others.length > 0) return 'uncertain';
  const scheme = SCHEME.exec(authorization ?? '');
  if (scheme === null) return 'absent';
  const [sessionToken = null, ...moreTokens] = headerValues(headers, 'x-amz-security-token');
  const credentials = (scheme[1] ?? '').split(',').filter((field) => /^\s*credential\s*=/i.test(field));
  const [, accessKeyId, region, service] = CREDENTIAL.exec(credentials[0]?.trim() ?? '') ?? [];
  if (accessKeyId === undefined || region === undefined || service === undefined) return 'uncertain';
  if (credentials.length > 1 || moreTokens.length > 0) return 'uncertain';
  return { accessKeyId, region, service, sessionToken };
}

/** Does a signature cover this header, so that nobody may change it? `name` is lower case. */
export function coversHeader(headers: HeaderList, name: string): boolean {
  return headerValues(headers, 'authorization').some((value) => {
    const [, list = ''] = /SignedHeaders=([^,\s]*)/i.exec(value) ?? [];
    return list.toLowerCase().split(';').includes(name);
  });
}
