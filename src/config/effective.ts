/**
 * A `Config` as the YAML that would give it, for `check`. The secret is redacted: the text cannot be read back in its
 * place, since it is shorter than any secret may be.
 */
import { stringify } from 'yaml';

import type { NamedPolicy } from '../coalesce/request/policy-choice.ts';
import type { Policy } from '../coalesce/request/policy.ts';
import { formatAddress } from './values/address.ts';
import type { Config } from './definition.ts';
import { renderRedis } from './fleet/redis.ts';
import type { Tls } from './named-files/tls.ts';
import { renderFailures } from './policy/failures.ts';
import { renderKeyOptions } from './policy/key-options.ts';
import { renderMatch } from './policy/named-policies.ts';
import { renderProfile } from './policy/profiles.ts';
import { renderSource } from './policy/tenant-sources.ts';
import { renderTracing } from './tracing-definition.ts';
import { formatDuration, formatSize } from './values/durations-and-sizes.ts';

const redacted = '<redacted>';

/** The effective configuration, defaults included, every secret redacted. */
export function renderEffective(config: Config): string {
  const { policy, admission } = config;
  const effective = {
    listen: config.listen.map(formatAddress),
    admin: formatAddress(config.admin),
    probes: config.probes === null ? null : formatAddress(config.probes),
    egress: config.egress,
    orphan_grace: formatDuration(config.orphanGraceMs),
    ...renderPolicy(policy),
    key: { secret: config.secret === null ? null : redacted, ...renderKeyOptions(policy.key) },
    tls: config.tls === null ? null : renderTls(config.tls),
    limits: renderLimits(config),
    admission: {
      max_upstream: admission.maxUpstream,
      max_queue: admission.maxQueue,
      max_wait: formatDuration(admission.maxWaitMs),
      scope: admission.scope,
    },
    max_promotions: config.maxPromotions,
    redis: renderRedis(config.redis),
    drain: formatDuration(config.drainMs),
    log: { level: config.logLevel },
    tracing: renderTracing(config.tracing),
    prices: Object.fromEntries(config.prices),
    profiles: config.profiles.map(renderProfile),
    policies: Object.fromEntries(config.policies.map((named) => [named.policy.name, renderNamed(named)])),
  };
  return stringify(effective, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Where the key is, never the key. */
function renderTls({ files }: Tls): Record<string, unknown> {
  return { cert: files.cert, key: files.key, client_ca: files.clientCa };
}

/** What the file and a policy write alike. */
function renderPolicy(policy: Policy): Record<string, unknown> {
  return {
    mode: policy.mode,
    tenant: { from: policy.tenant.from.map(renderSource), anonymous: policy.tenant.anonymous },
    sampling: policy.sampling,
    tools: policy.tools,
    identity: policy.identity,
    late_join: renderLateJoin(policy),
    deadlines: renderDeadlines(policy),
    ...renderFailures(policy),
    rollout: policy.rollout,
    shadow: { compare: policy.shadow.compare, max_bytes: formatSize(policy.shadow.maxBytes) },
  };
}

function renderNamed({ policy, match }: NamedPolicy): Record<string, unknown> {
  return {
    ...(match === null ? {} : { match: renderMatch(match) }),
    ...renderPolicy(policy),
    key: renderKeyOptions(policy.key),
    limits: { max_waiters: policy.maxWaiters },
  };
}

function renderLimits({ limits, policy }: Config): Record<string, unknown> {
  return {
    max_waiters: policy.maxWaiters,
    max_waiters_total: limits.maxWaitersTotal,
    max_generations: limits.maxGenerations,
    max_flights: limits.maxFlights,
    max_request_bytes: formatSize(limits.maxRequestBytes),
    max_request_bytes_total: formatSize(limits.maxRequestBytesTotal),
    max_replay_bytes: formatSize(limits.maxReplayBytes),
    max_replay_bytes_total: formatSize(limits.maxReplayBytesTotal),
    max_loop_delay: formatDuration(limits.maxLoopDelayMs),
    ticket_ttl: formatDuration(limits.ticketTtlMs),
    release_rate: limits.releaseRate,
  };
}

function renderLateJoin({ lateJoin }: Policy): Record<string, unknown> {
  return {
    max_events: lateJoin.maxEvents,
    max_bytes: formatSize(lateJoin.maxBytes),
    max_age: formatDuration(lateJoin.maxAgeMs),
  };
}

function renderDeadlines({ deadlines }: Policy): Record<string, unknown> {
  return {
    first_byte: formatDuration(deadlines.firstByteMs),
    idle: formatDuration(deadlines.idleMs),
    total: formatDuration(deadlines.totalMs),
    wait: formatDuration(deadlines.waitMs),
    keep_alive: formatDuration(deadlines.keepAliveMs),
  };
}
