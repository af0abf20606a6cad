/**
 * The one definition of the configuration: every key, what it may hold and its default, and the `Config` that the rest
 * of the program sees. Owns no YAML and no file; `read.ts` does.
 */
import { z } from 'zod';

import type { NamedPolicy } from '../coalesce/request/policy-choice.ts';
import type { Policy } from '../coalesce/request/policy.ts';
import type { Prices } from './prices.ts';
import type { Address } from './values/address.ts';
import { keysOf } from './mistakes/keys.ts';
import { leastSecretBytes } from './named-files/secret.ts';
import type { Tls, TlsFiles } from './named-files/tls.ts';
import { defaultPolicyContent, maxWaiters, policyNamed, policyShape } from './policy-definition.ts';
import { keyOptionsOf, keyShape } from './policy/key-options.ts';
import { namedPolicy, policiesSchema, reservedNames } from './policy/named-policies.ts';
import { addedProfile, type AddedProfile } from './policy/profiles.ts';
import { tracing, type TracingConfig, type TracingContent } from './tracing-definition.ts';
import { redis, type RedisConfig } from './fleet/redis.ts';
import {
  address,
  amount,
  confidentialText,
  count,
  duration,
  nonEmptyText,
  oneOf,
  origin,
  size,
  type JsonSchema,
} from './values/scalars.ts';

const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];

/** What bounds the process as a whole; the bound of one flight's waiters is the policy's. */
export interface Limits {
  readonly maxWaitersTotal: number;
  /** Flights under one key at once. */
  readonly maxGenerations: number;
  readonly maxFlights: number;
  readonly maxRequestBytes: number;
  readonly maxRequestBytesTotal: number;
  readonly maxReplayBytes: number;
  readonly maxReplayBytesTotal: number;
  /** Event-loop delay from which new exchanges bypass. */
  readonly maxLoopDelayMs: number;
  readonly ticketTtlMs: number;
  /** Callers released per second and key, the first at once. */
  readonly releaseRate: number;
}

export interface Admission {
  /** Upstream calls at once; 0: no limit. */
  readonly maxUpstream: number;
  readonly maxQueue: number;
  readonly maxWaitMs: number;
  /** Whose calls `maxUpstream` counts: this process's, or those of all that share `redis`. */
  readonly scope: 'process' | 'fleet';
}

export interface Config {
  readonly listen: readonly Address[];
  readonly admin: Address;
  readonly probes: Address | null;
  /** Origin of the detached leg's upstream; null: attached leg. */
  readonly egress: string | null;
  readonly orphanGraceMs: number;
  /** At least 32 bytes; null: one is drawn at start. */
  readonly secret: Buffer | null;
  /** mTLS on the gRPC port; null: plain text. */
  readonly tls: Tls | null;
  readonly limits: Limits;
  readonly admission: Admission;
  readonly maxPromotions: number;
  /** The table that a fleet shares; null: each process by itself. */
  readonly redis: RedisConfig | null;
  readonly drainMs: number;
  readonly logLevel: LogLevel;
  /** Null: off. */
  readonly tracing: TracingConfig | null;
  /** By model, for what followers did not cost. */
  readonly prices: Prices;
  /** Endpoints besides the known ones. */
  readonly profiles: readonly AddedProfile[];
  /** What applies where no other policy does. */
  readonly policy: Policy;
  /** In the file's order. */
  readonly policies: readonly NamedPolicy[];
}

/** What a file says, before the files that it names are read and the policies are built on the file's own. */
export interface ConfigContent extends Omit<Config, 'secret' | 'tls' | 'policies' | 'tracing'> {
  readonly tracing: TracingContent | null;
  readonly policyData: unknown;
  readonly secretText: string | null;
  readonly secretFile: string | null;
  readonly tlsFiles: TlsFiles | null;
}

const second = 1000;
/**
 * A chunked upload arrives whole up to twice Envoy's buffer, and a gRPC message of the processor holds 64 MiB: a body
 * under this limit always fits.
 */
const largestRequestBytes = 31 * 2 ** 20;

const limits = z
  .strictObject({
    max_waiters: maxWaiters(defaultPolicyContent),
    max_waiters_total: count({ least: 1 }).default(10_000),
    max_generations: count({ least: 1, most: 1000 }).default(4),
    max_flights: count({ least: 1 }).default(10_000),
    max_request_bytes: size({ least: 1, most: largestRequestBytes }).default(2 ** 20),
    max_request_bytes_total: size({ least: 1 }).default(256 * 2 ** 20),
    max_replay_bytes: size({ least: 1 }).default(8 * 2 ** 20),
    max_replay_bytes_total: size({ least: 1 }).default(256 * 2 ** 20),
    max_loop_delay: duration({ least: 1 }).default(2 * second),
    ticket_ttl: duration({ least: 1 }).default(10 * second),
    release_rate: count({ least: 1, most: 1_000_000 }).default(50),
  })
  .prefault({});

const admission = z
  .strictObject({
    max_upstream: count().default(0),
    max_queue: count().default(1000),
    max_wait: duration().default(30 * second),
    scope: oneOf(['process', 'fleet']).default('process'),
  })
  .prefault({})
  .transform((read) => ({
    maxUpstream: read.max_upstream,
    maxQueue: read.max_queue,
    maxWaitMs: read.max_wait,
    scope: read.scope,
  }));

/** A list; a single value is a list of one. */
const addresses: z.ZodType<readonly Address[]> = oneOrMore(z.array(address()).min(1).max(16));

const file = z.strictObject({
  listen: addresses.default([{ kind: 'tcp', host: '127.0.0.1', port: 9002 }]),
  admin: address().default({ kind: 'tcp', host: '127.0.0.1', port: 9003 }),
  probes: address().nullable().default(null),
  ...policyShape(defaultPolicyContent),
  egress: origin().nullable().default(null),
  orphan_grace: duration().default(2 * second),
  key: z
    .strictObject({
      secret: confidentialText(`one of at least ${leastSecretBytes} bytes, in quotes`).nullable().default(null),
      secret_file: nonEmptyText().nullable().default(null),
      ...keyShape(defaultPolicyContent.key),
    })
    .prefault({}),
  tls: z
    .strictObject({ cert: nonEmptyText(), key: nonEmptyText(), client_ca: nonEmptyText() })
    .transform((read): TlsFiles => ({ cert: read.cert, key: read.key, clientCa: read.client_ca }))
    .nullable()
    .default(null),
  limits,
  admission,
  max_promotions: count({ most: 1000 }).default(3),
  redis: redis.default(null),
  drain: duration().default(1800 * second),
  log: z.strictObject({ level: oneOf(logLevels).default('info') }).prefault({}),
  tracing,
  prices: z
    .record(z.string(), z.strictObject({ prompt: amount(), completion: amount() }))
    .transform((read): Prices => new Map(Object.entries(read)))
    .default(new Map()),
  profiles: z.array(addedProfile).max(256).default([]),
  policies: z.unknown().default({}),
});

function oneOrMore(list: z.ZodType<readonly Address[]>): z.ZodType<readonly Address[]> {
  const { pattern } = z.toJSONSchema(address(), { io: 'input' });
  const type = z.preprocess((value) => (typeof value === 'string' ? [value] : value), list);
  return type.meta({ type: ['string', 'array'], pattern });
}

const content: z.ZodType<ConfigContent> = file.transform(contentOf);

/** The definition applied to plain data, as YAML or JSON gives it. */
export function parseContent(raw: unknown): z.ZodSafeParseResult<ConfigContent> {
  return content.safeParse(raw, { reportInput: true });
}

/**
 * Every key of the definition as a dotted path without list indexes: `limits.max_waiters`, `tenant.from.header`. The keys
 * of a policy stand below `policies.*`.
 */
export function knownKeys(): string[] {
  return [...keysOf(file), ...keysOf(namedPolicy(defaultPolicyContent)).map((key) => `policies.*.${key}`)];
}

/** What of the definition JSON Schema (draft 7) can express, without defaults. */
export function fileSchema(): JsonSchema {
  const schemaOf = (type: z.ZodType): JsonSchema => {
    // zod puts the mark of its `prefault` where others look for the value that applies.
    const override: Parameters<typeof z.toJSONSchema>[1] = {
      override: ({ jsonSchema }) => void delete jsonSchema.default,
    };
    return z.toJSONSchema(type, { target: 'draft-7', io: 'input', unrepresentable: 'any', ...override });
  };
  const { $schema: _dialect, ...policy } = schemaOf(namedPolicy(defaultPolicyContent));
  const whole = schemaOf(file);
  return { ...whole, properties: { ...Object(whole['properties']), policies: policiesSchema(policy) } };
}

function contentOf(read: z.output<typeof file>): ConfigContent {
  const { mode, tenant, sampling, tools, identity, deadlines, rollout, shadow, retry } = read;
  const maxWaiters = read.limits.max_waiters;
  return {
    listen: read.listen,
    admin: read.admin,
    probes: read.probes,
    egress: read.egress,
    orphanGraceMs: read.orphan_grace,
    secretText: read.key.secret,
    secretFile: read.key.secret_file,
    tlsFiles: read.tls,
    limits: limitsOf(read.limits),
    admission: read.admission,
    maxPromotions: read.max_promotions,
    redis: read.redis,
    drainMs: read.drain,
    logLevel: read.log.level,
    tracing: read.tracing,
    prices: read.prices,
    profiles: read.profiles,
    policy: policyNamed(reservedNames.base, {
      ...{ mode, tenant, sampling, tools, identity, maxWaiters, deadlines, rollout, shadow },
      key: keyOptionsOf(read.key),
      lateJoin: read.late_join,
      retry,
      negativeCache: read.negative_cache,
    }),
    policyData: read.policies,
  };
}

function limitsOf(read: z.output<typeof limits>): Limits {
  return {
    maxWaitersTotal: read.max_waiters_total,
    maxGenerations: read.max_generations,
    maxFlights: read.max_flights,
    maxRequestBytes: read.max_request_bytes,
    maxRequestBytesTotal: read.max_request_bytes_total,
    maxReplayBytes: read.max_replay_bytes,
    maxReplayBytesTotal: read.max_replay_bytes_total,
    maxLoopDelayMs: read.max_loop_delay,
    ticketTtlMs: read.ticket_ttl,
    releaseRate: read.release_rate,
  };
}
