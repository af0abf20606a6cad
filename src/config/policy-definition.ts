/**
 * The part of the definition that a policy may override: its keys, their defaults, and the epoch that stands for its
 * content. The configuration file and the inline policy are both read with these pieces.
 */
import { createHash } from 'node:crypto';

import { z } from 'zod';

import type { Deadlines, LateJoin, Policy, TenantSource } from '../coalesce/request/policy.ts';
import { count, duration, headerName, nonEmptyText, oneOf, size } from './values/scalars.ts';

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
  maxWaiters: 32,
  lateJoin: { maxEvents: 1000, maxBytes: 2 ** 20, maxAgeMs: minute },
  deadlines: { firstByteMs: 10 * minute, idleMs: 5 * minute, totalMs: 30 * minute, waitMs: 15 * minute },
};

/** Top-level keys that the file and an inline policy have in common; `limits.max_waiters` is `maxWaiters()`. */
export interface PolicyShape {
  readonly mode: z.ZodType<Policy['mode']>;
  readonly tenant: z.ZodType<Policy['tenant']>;
  readonly sampling: z.ZodType<Policy['sampling']>;
  readonly tools: z.ZodType<Policy['tools']>;
  readonly identity: z.ZodType<Policy['identity']>;
  readonly late_join: z.ZodType<LateJoin>;
  readonly deadlines: z.ZodType<Deadlines>;
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
  };
}

/** `limits.max_waiters`. */
export function maxWaiters(base: PolicyContent): z.ZodDefault<z.ZodType<number>> {
  return count({ least: 1, most: 1_000_000 }).default(base.maxWaiters);
}

/** The policy of this content. Its epoch depends on nothing but the content, so equal policies share. */
export function policyNamed(name: string, content: PolicyContent): Policy {
  const { mode, tenant, sampling, tools, identity, lateJoin, deadlines } = content;
  const plain = { mode, tenant, sampling, tools, identity, maxWaiters: content.maxWaiters, lateJoin, deadlines };
  const epoch = createHash('sha256').update(canonicalJson(plain)).digest('hex').slice(0, 16);
  return { epoch, name, ...plain };
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

const singleKeys = {
  header: headerName().optional(),
  query: nonEmptyText().optional(),
  metadata: z.strictObject({ namespace: nonEmptyText(), path: z.array(nonEmptyText()).min(1).max(16) }).optional(),
  sigv4: oneOf(['access_key']).optional(),
};

interface SingleSource {
  readonly header?: string | undefined;
  readonly query?: string | undefined;
  readonly metadata?: { readonly namespace: string; readonly path: readonly string[] } | undefined;
  readonly sigv4?: 'access_key' | undefined;
}

const single = z.strictObject(singleKeys).transform((read, context) => {
  const sources = sourcesOf(read);
  if (sources[0] !== undefined && sources.length === 1) return sources[0];
  context.addIssue({ code: 'custom', message: 'expected exactly one of header, query, metadata, sigv4' });
  return z.NEVER;
});

const tenantSource: z.ZodType<TenantSource> = z
  .strictObject({ ...singleKeys, all: z.array(single).min(1).max(8).optional() })
  .transform((read, context) => {
    const sources = sourcesOf(read);
    if (read.all !== undefined) sources.push({ kind: 'all', sources: read.all });
    if (sources[0] !== undefined && sources.length === 1) return sources[0];
    context.addIssue({ code: 'custom', message: 'expected exactly one of header, query, metadata, sigv4, all' });
    return z.NEVER;
  });

function sourcesOf(read: SingleSource): TenantSource[] {
  const sources: TenantSource[] = [];
  if (read.header !== undefined) sources.push({ kind: 'header', name: read.header });
  if (read.query !== undefined) sources.push({ kind: 'query', name: read.query });
  if (read.metadata !== undefined) sources.push({ kind: 'metadata', ...read.metadata });
  if (read.sigv4 !== undefined) sources.push({ kind: 'sigv4' });
  return sources;
}

/** JSON with members in order of their names. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
