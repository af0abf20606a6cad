/**
 * Request headers that are credentials or say who asks: no policy may take them out of the key, and no output shows them.
 */

const identityNames: ReadonlySet<string> = new Set([
  'x-forwarded-client-cert',
  'x-forwarded-user',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
  'x-forwarded-access-token',
  'x-auth-request-user',
  'x-auth-request-email',
  'x-auth-request-groups',
  'x-remote-user',
  'remote-user',
]);

/** Whole words of a name, by which gateways name credentials. */
const CREDENTIAL_WORDS =
  /(?:^|[-_])(?:authorization|authentication|auth|api-?key|apikey|access-?key|token|secret|password|passwd|credentials?|signature|jwt|cookie|session)(?:$|[-_])/;

/** Keys that open nothing. */
const HARMLESS_KEY = /(?:idempotency|cache|rout(?:e|ing)|shard|partition)-key$/;

/** Whether a header of this name (in lower case) proves or tells who asks. In doubt it does. */
export function isCredentialHeader(name: string): boolean {
  if (identityNames.has(name) || CREDENTIAL_WORDS.test(name)) return true;
  return /(?:^|[-_])key$/.test(name) && !HARMLESS_KEY.test(name);
}
