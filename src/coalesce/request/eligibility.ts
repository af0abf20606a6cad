/**
 * Which requests may be coalesced at all, and as what. First from the head alone, so that nothing is buffered in vain;
 * then from the body. When in doubt, bypass.
 */

import { canonicalBody } from '../key/canonical-body.ts';
import { saysJson } from '../key/content-type.ts';
import { digest } from '../key/digest.ts';
import { keyParts, makeKey, type Key, type KeyParts } from '../key/key.ts';
import { bodyChanges } from '../key/options/body-changes.ts';
import { modelOf, readBody, streamModeOf, type RequestBody } from '../key/request-body.ts';
import { profileOf } from '../profiles/known-profiles.ts';
import type { ErrorShape, Profile, Usage } from '../profiles/profile.ts';
import { nondeterminismOf } from '../profiles/objections/sampling.ts';
import { sideEffectOf } from '../profiles/objections/side-effects.ts';
import { headerValues, soleHeader, type RequestHead } from './head.ts';
import type { BypassReason } from './outcomes.ts';
import type { Policy } from './policy.ts';
import { coversHeader } from './sigv4.ts';
import { tenantOf, type Tenancy, type Tenant } from './tenant.ts';

/** What the head says: no, or in which way the body is to be asked for. */
export type Screening =
  | { readonly kind: 'bypass'; readonly reason: BypassReason }
  | {
      readonly kind: 'candidate';
      /** `buffered_partial` where the length is not known: such an upload may turn out to be too large. */
      readonly body: 'buffered' | 'buffered_partial';
      readonly profile: Profile;
    };

export interface ScreenOptions {
  readonly policy: Policy;
  readonly maxRequestBytes: number;
  /** The operator's, besides the known ones. */
  readonly profiles?: readonly Profile[];
}

/** Cheap: reads neither metadata nor body. Mode `shadow` passes; what it means is the flight table's to say. */
export function screen(head: RequestHead, { policy, maxRequestBytes, profiles = [] }: ScreenOptions): Screening {
  if (policy.mode === 'off') return bypass('mode_off');
  // Only our own call carries it: it came back through the listener that it was to go around.
  if (headerValues(head.headers, 'x-coalesce-flight').length > 0) return bypass('egress_loop');
  if (isOptedOut(head)) return bypass('opt_out');
  // Before anything that asks for the body: an upgrade has none, and waiting for it never ends.
  if (isUpgrade(head)) return bypass('upgrade');
  const profile = profileOf(head.method, head.path, profiles);
  if (profile === null) return bypass('not_llm');
  if (!isReadable(head, profile)) return bypass('content_type');
  if (!isUnencoded(head) || isEncodingSigned(head)) return bypass('unsupported_encoding');
  const body = bodyModeOf(head, maxRequestBytes);
  return body === 'no_body' || body === 'too_large' ? bypass(body) : { kind: 'candidate', body, profile };
}

/** What head and body say together. */
export type Verdict =
  | { readonly kind: 'bypass'; readonly reason: BypassReason }
  | {
      readonly kind: 'eligible';
      readonly tenant: Tenant;
      readonly key: Key;
      readonly model: string;
      readonly errorShape: ErrorShape;
      /** Where the answer says what it cost. */
      readonly usage: Usage;
      /** Digest of the body as sent, 64 hex digits: requests with one key may differ in it. */
      readonly rawDigest: string;
    };

export interface JudgedRequest {
  readonly head: RequestHead;
  /** The whole body, not above the limit. */
  readonly body: Uint8Array;
  /** From `screen`. */
  readonly profile: Profile;
  /** Whose Envoy passed it on, where that is verified; else null. */
  readonly fleet: string | null;
}

export interface JudgeOptions {
  readonly policy: Policy;
  /** Keys every digest. */
  readonly secret: Uint8Array;
}

/** What there is to say about an eligible request. */
export type Examination =
  /** `detail`: which member of the body is the reason, and why; null where no single one is. */
  | { readonly kind: 'bypass'; readonly reason: BypassReason; readonly detail: string | null }
  | { readonly kind: 'eligible'; readonly tenancy: Tenancy; readonly model: string; readonly parts: KeyParts };

/** For a request that `screen` let pass. */
export function judge(request: JudgedRequest, options: JudgeOptions): Verdict {
  const examination = examine(request, options);
  if (examination.kind === 'bypass') return bypass(examination.reason);
  const { tenancy, model, parts } = examination;
  const { secret } = options;
  return {
    kind: 'eligible',
    tenant: tenancy.tenant,
    key: makeKey(secret, parts),
    model,
    errorShape: request.profile.errorShape,
    usage: request.profile.usage,
    rawDigest: digest(secret, { label: 'raw body', parts: [], bytes: request.body }),
  };
}

/** As `judge`, with everything that the key is made of in place of the key. */
export function examine({ head, body, profile, fleet }: JudgedRequest, { policy, secret }: JudgeOptions): Examination {
  if (body.length === 0) return unexplained('no_body');
  const tenancy = tenantOf(head, policy, secret);
  if (tenancy === null) return unexplained('no_tenant');
  const read = readBody(body, profile);
  if (read === null) return unexplained('unparseable');
  const model = modelOf(read, profile, head.path);
  const stream = streamModeOf(read, profile);
  if (model === null || stream === null) return unexplained('unparseable');
  const objection = objectionTo(read, profile, policy);
  if (objection !== null) return objection;
  const changes = bodyChanges(read, policy.key, profile);
  const ignoreIdentity = policy.identity === 'ignore';
  const canonical = canonicalBody(read, { profile, stream, ignoreIdentity, changes });
  const parts = keyParts({ head, tenancy, fleet, policy, profile, ignoreIdentity, body: canonical });
  return { kind: 'eligible', tenancy, model, parts };
}

function objectionTo(
  body: RequestBody,
  profile: Profile,
  policy: Policy,
): Extract<Examination, { kind: 'bypass' }> | null {
  const effect = sideEffectOf(body, profile, policy.tools);
  if (effect !== null) return { ...bypass('side_effects'), detail: effect };
  const chance = nondeterminismOf(body, profile, policy.sampling);
  return chance === null ? null : { ...bypass('nondeterministic'), detail: chance };
}

function unexplained(reason: BypassReason): Extract<Examination, { kind: 'bypass' }> {
  return { ...bypass(reason), detail: null };
}

function bypass(reason: BypassReason): { readonly kind: 'bypass'; readonly reason: BypassReason } {
  return { kind: 'bypass', reason };
}

function isOptedOut({ headers }: RequestHead): boolean {
  return headerValues(headers, 'x-coalesce').some((value) =>
    value.split(',').some((item) => item.trim().toLowerCase() === 'never'),
  );
}

/** HTTP/2 spells an upgrade as CONNECT with a `:protocol`. */
function isUpgrade({ method, headers }: RequestHead): boolean {
  return method === 'CONNECT' || headerValues(headers, 'upgrade').length > 0;
}

/** Exactly one content type, JSON; or at most one, where the servers do not look at it. */
function isReadable({ headers }: RequestHead, { contentType }: Profile): boolean {
  if (contentType === 'any') return headerValues(headers, 'content-type').length <= 1;
  return saysJson(soleHeader(headers, 'content-type') ?? '');
}

function isUnencoded({ headers }: RequestHead): boolean {
  const values = headerValues(headers, 'content-encoding');
  return values.every((value) => value.trim().toLowerCase() === 'identity');
}

/** The leader's `accept-encoding` is replaced by identity: where a signature covers another value, that would break it. */
function isEncodingSigned({ headers }: RequestHead): boolean {
  const isOther = headerValues(headers, 'accept-encoding').some((value) => value.trim().toLowerCase() !== 'identity');
  return isOther && coversHeader(headers, 'accept-encoding');
}

function bodyModeOf(
  head: RequestHead,
  maxRequestBytes: number,
): 'buffered' | 'buffered_partial' | 'no_body' | 'too_large' {
  if (!head.bodyFollows) return 'no_body';
  const lengths = headerValues(head.headers, 'content-length');
  if (lengths.length === 0) return 'buffered_partial';
  const length = soleHeader(head.headers, 'content-length');
  // A length that cannot be read is not known to be within the limit.
  if (length === null || !/^\d+$/.test(length)) return 'too_large';
  if (Number(length) === 0) return 'no_body';
  return Number(length) > maxRequestBytes ? 'too_large' : 'buffered';
}
