/** What there is to say about one captured request: the decision, and all that led to it. Says it in data; `print.ts` in words. */
import { whyIgnored } from '../../coalesce/key/ignored-headers.ts';
import { makeKey, type Key, type KeyParts } from '../../coalesce/key/key.ts';
import { nodesAt, parsePointer } from '../../coalesce/key/options/body-pointer.ts';
import { messageTexts } from '../../coalesce/key/options/message-texts.ts';
import { readBody, type RequestBody } from '../../coalesce/key/request-body.ts';
import type { Profile } from '../../coalesce/profiles/profile.ts';
import { examine, screen } from '../../coalesce/request/eligibility.ts';
import type { BypassReason } from '../../coalesce/request/outcomes.ts';
import type { Policy } from '../../coalesce/request/policy.ts';
import { isEnforced } from '../../coalesce/request/rollout.ts';
import type { Tenancy } from '../../coalesce/request/tenant.ts';
import type { Config } from '../../config/definition.ts';
import type { CapturedRequest } from './requests.ts';

/** Something that does not count, and why. */
export interface Ignored {
  readonly place: 'header' | 'body';
  readonly name: string;
  readonly why: string;
}

export type Explanation = {
  readonly request: CapturedRequest;
  readonly policy: Policy;
} & (
  | {
      readonly outcome: 'bypass';
      readonly reason: BypassReason;
      /** The member of the body that is the reason, and why; null where no single one is. */
      readonly detail: string | null;
      readonly profile: Profile | null;
    }
  | {
      readonly outcome: 'eligible';
      readonly profile: Profile;
      readonly model: string;
      readonly tenancy: Tenancy;
      readonly key: Key;
      readonly parts: KeyParts;
      readonly ignored: readonly Ignored[];
      /** Whether answers are shared, by mode and rollout; else they are only counted. */
      readonly isEnforced: boolean;
    }
);

export interface Grounds {
  readonly policy: Policy;
  readonly secret: Uint8Array;
  readonly config: Config;
}

/** Decides as the processor does, short of what only a running one knows: limits, overload, what is in flight. */
export function explainRequest(request: CapturedRequest, { policy, secret, config }: Grounds): Explanation {
  const { head, body, fleet } = request;
  const { maxRequestBytes } = config.limits;
  const profiles = config.profiles.map((added) => added.profile);
  const screening = screen(head, { policy, maxRequestBytes, profiles });
  const bypass = (reason: BypassReason, profile: Profile | null, detail: string | null = null): Explanation => {
    return { request, policy, outcome: 'bypass', reason, detail, profile };
  };
  if (screening.kind === 'bypass') return bypass(screening.reason, null);
  const { profile } = screening;
  if (body.length > maxRequestBytes) return bypass('too_large', profile);
  const examination = examine({ head, body, profile, fleet }, { policy, secret });
  if (examination.kind === 'bypass') return bypass(examination.reason, profile, examination.detail);
  const { tenancy, model, parts } = examination;
  const key = makeKey(secret, parts);
  const ignored = [
    ...ignoredHeaders(request, { policy, profile, tenancy }),
    ...ignoredMembers(request, profile, policy),
  ];
  return {
    ...{ request, policy, profile, model, tenancy, key, parts, ignored },
    outcome: 'eligible',
    isEnforced: isEnforced(key, policy),
  };
}

function ignoredHeaders(
  { head }: CapturedRequest,
  { policy, profile, tenancy }: { policy: Policy; profile: Profile; tenancy: Tenancy },
): Ignored[] {
  const ignoreIdentity = policy.identity === 'ignore';
  const { ignoreHeaders } = policy.key;
  return head.headers.flatMap(([name, value]) => {
    const why = whyIgnored(name, value, { profile, ignoreIdentity, ignoreHeaders, isSigned: tenancy.isSigned });
    return why === null ? [] : [{ place: 'header' as const, name, why }];
  });
}

function ignoredMembers({ body }: CapturedRequest, profile: Profile, policy: Policy): Ignored[] {
  const read = readBody(body, profile);
  if (read === null) return [];
  const identity = policy.identity === 'ignore' ? profile.identity : [];
  const members = identity
    .filter(({ member }) => read.members.has(member))
    .map(({ member, why }) => ({ name: `/${member}`, why }));
  const pointers = policy.key.ignoreBody
    .filter((text) => nodesAt(read, parsePointer(text) ?? []).length > 0)
    .map((name) => ({ name, why: 'the policy ignores it' }));
  return [...members, ...pointers, ...normalised(read, policy)].map((one) => ({ place: 'body' as const, ...one }));
}

function normalised(body: RequestBody, { key: { normalize } }: Policy): Omit<Ignored, 'place'>[] {
  const { collapseWhitespace, stripTimestamps, stripNonces } = normalize;
  const noise: string[] = [];
  if (collapseWhitespace) noise.push('runs of space');
  if (stripTimestamps) noise.push('instants');
  if (stripNonces.length > 0) noise.push('nonces');
  const count = messageTexts(body).length;
  if (noise.length === 0 || count === 0) return [];
  return [
    {
      name: `${noise.join(', ')} in ${count} ${count === 1 ? 'text' : 'texts'}`,
      why: 'the policy normalises the texts of messages',
    },
  ];
}
