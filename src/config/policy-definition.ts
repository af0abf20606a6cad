/**
 * The part of the definition that a policy may override: its keys, their defaults, and the epoch that stands for its
 * content. The configuration file and the inline policy are both read with these pieces.
 */
import { createHash } from 'node:crypto';

import { z } from 'zod';

import type {
  Deadlines,
  KeyOptions,
  LateJoin,
  Policy,
  ShadowSampling,
  TenantSource,
} from '../coalesce/request/policy.ts';
import { keyOptionsOf, keyShape } from './policy/key-options.ts';
import { tenantSource } from './policy/tenant-sources.ts';
import { count, duration, oneOf, percentage, share, size } from './values/scalars.ts';

/** What a policy says, without what is derived from it. */
export type PolicyContent = Omit<Policy, 'epoch' | 'name'>;

const second = 1000;
const minute = 60 * second;
/** Deliver's `max_message_timeout` is 3600 s: what a caller waits for there has to end before. */
const deliverLimitMs = 3599 * second;

const metadataNamespace = 'envoy.filters.http.jwt_authn';
const jwtClaim = (claim: string): TenantSource => {
  return { kind: 'metadata', namespace: metadataNamespace, path: ['payload', claim] };
};

export const defaultPolicyContent: PolicyContent = {
  mode: 'enforce',
  tenant: {
    from: [
      { kind: 'all', sources: [jwtClaim('iss'), jwtClaim('sub')] },
      { kind: 'header', name: 'authorization' },
      { kind: 'header', name: 'x-api-key' },
      { kind: 'header', name: 'api-key' },
      { kind: 'header', name: 'x-goog-api-key' },
      { kind: 'query', name: 'key' },
    ],
    anonymous: 'bypass',
  },
  sampling: 'deterministic',
  tools: 'bypass',
  identity: 'keep',
  key: {
    include: [],
    ignoreHeaders: [],
    ignoreBody: [],
    normalize: { collapseWhitespace: false, stripTimestamps: false, stripNonces: [] },
  },
  rollout: 100,
  shadow: { compare: 0.01, maxBytes: 2 ** 20 },
  maxWaiters: 32,
  lateJoin: { maxEvents: 1000, maxBytes: 2 ** 20, maxAgeMs: minute },
  deadlines: { firstByteMs: 10 * minute, idleMs: 5 * minute, totalMs: 30 * minute, waitMs: 15 * minute },
};

/**
 * Top-level keys that the file and a policy have in common; `limits.max_waiters` is `maxWaiters()`, and what is below `key`
 * is `keyShape()`.
 */
export interface PolicyShape {
  readonly mode: z.ZodType<Policy['mode']>;
  readonly tenant: z.ZodType<Policy['tenant']>;
  readonly sampling: z.ZodType<Policy['sampling']>;
  readonly tools: z.ZodType<Policy['tools']>;
  readonly identity: z.ZodType<Policy['identity']>;
  readonly late_join: z.ZodType<LateJoin>;
  readonly deadlines: z.ZodType<Deadlines>;
  readonly rollout: z.ZodType<number>;
  readonly shadow: z.ZodType<ShadowSampling>;
}

/** The keys, with `base` for what is not said. */
export function policyShape(base: PolicyContent): PolicyShape {
  return {
    mode: oneOf(['off', 'shadow', 'enforce']).default(base.mode),
    tenant: z
      .strictObject({
        from: z
          .array(tenantSource)
          .max(32)
          .default([...base.tenant.from]),
        anonymous: oneOf(['bypass', 'share']).default(base.tenant.anonymous),
      })
      .prefault({}),
    sampling: oneOf(['deterministic', 'seeded', 'any']).default(base.sampling),
    tools: oneOf(['bypass', 'allow']).default(base.tools),
    identity: oneOf(['keep', 'ignore']).default(base.identity),
    late_join: lateJoin(base.lateJoin),
    deadlines: deadlines(base.deadlines),
    rollout: percentage().default(base.rollout),
    shadow: shadow(base.shadow),
  };
}

/** `limits.max_waiters`. */
export function maxWaiters(base: PolicyContent): z.ZodDefault<z.ZodType<number>> {
  return count({ least: 1, most: 1_000_000 }).default(base.maxWaiters);
}

/** All keys of a policy that is not the file's own. */
export interface OverrideShape extends PolicyShape {
  readonly key: z.ZodType<KeyOptions>;
  readonly limits: z.ZodType<{ max_waiters: number }>;
}

/** What is read of it. */
export type PolicyOverrides = { readonly [Key in keyof OverrideShape]: z.output<OverrideShape[Key]> };

export function overrideShape(base: PolicyContent): OverrideShape {
  return {
    ...policyShape(base),
    key: z.strictObject(keyShape(base.key)).prefault({}).transform(keyOptionsOf),
    limits: z.strictObject({ max_waiters: maxWaiters(base) }).prefault({}),
  };
}

export function policyContentOf(read: PolicyOverrides): PolicyContent {
  const { limits, late_join: lateJoin, ...rest } = read;
  return { ...rest, lateJoin, maxWaiters: limits.max_waiters };
}

/**
 * The policy of this content. Its epoch depends on nothing but the content, so equal policies share. The rollout has no
 * part in it: what is enforced at a smaller share keeps its keys at a larger one. Nor has what shadow mode compares.
 */
export function policyNamed(name: string, content: PolicyContent): Policy {
  const { rollout, shadow: compared, ...plain } = content;
  const epoch = createHash('sha256').update(canonicalJson(plain)).digest('hex').slice(0, 16);
  return { ...plain, rollout, shadow: compared, epoch, name };
}

function lateJoin(base: LateJoin): z.ZodType<LateJoin> {
  return z
    .strictObject({
      max_events: count().default(base.maxEvents),
      max_bytes: size().default(base.maxBytes),
      max_age: duration().default(base.maxAgeMs),
    })
    .prefault({})
    .transform((read) => ({ maxEvents: read.max_events, maxBytes: read.max_bytes, maxAgeMs: read.max_age }));
}

/** A captured answer is looked through in one go, so that none may be large. */
const largestSpecimen = 8 * 2 ** 20;

function shadow(base: ShadowSampling): z.ZodType<ShadowSampling> {
  return z
    .strictObject({
      compare: share().default(base.compare),
      max_bytes: size({ least: 1, most: largestSpecimen }).default(base.maxBytes),
    })
    .prefault({})
    .transform((read) => ({ compare: read.compare, maxBytes: read.max_bytes }));
}

function deadlines(base: Deadlines): z.ZodType<Deadlines> {
  const inDeliver = { least: 1, most: deliverLimitMs };
  return z
    .strictObject({
      first_byte: duration(inDeliver).default(base.firstByteMs),
      idle: duration({ least: 1 }).default(base.idleMs),
      total: duration({ least: 1 }).default(base.totalMs),
      wait: duration(inDeliver).default(base.waitMs),
    })
    .prefault({})
    .transform((read) => {
      return { firstByteMs: read.first_byte, idleMs: read.idle, totalMs: read.total, waitMs: read.wait };
    });
}

/** JSON with members in order of their names. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
