/**
 * A `Config` as the YAML that would give it, for `check`. The secret is redacted: the text cannot be read back in its
 * place, since it is shorter than any secret may be.
 */
import { stringify } from 'yaml';

import type { Policy, TenantSource } from '../coalesce/request/policy.ts';
import { formatAddress } from './values/address.ts';
import type { Config } from './definition.ts';
import { formatDuration, formatSize } from './values/durations-and-sizes.ts';

const redacted = '<redacted>';

/** The effective configuration, defaults included, every secret redacted. */
export function renderEffective(config: Config): string {
  const { policy, admission } = config;
  const effective = {
    listen: config.listen.map(formatAddress),
    admin: formatAddress(config.admin),
    probes: config.probes === null ? null : formatAddress(config.probes),
    mode: policy.mode,
    egress: config.egress,
    orphan_grace: formatDuration(config.orphanGraceMs),
    tenant: { from: policy.tenant.from.map(renderSource), anonymous: policy.tenant.anonymous },
    sampling: policy.sampling,
    tools: policy.tools,
    identity: policy.identity,
    key: { secret: config.secret === null ? null : redacted },
    limits: renderLimits(config),
    late_join: renderLateJoin(policy),
    deadlines: renderDeadlines(policy),
    admission: {
      max_upstream: admission.maxUpstream,
      max_queue: admission.maxQueue,
      max_wait: formatDuration(admission.maxWaitMs),
    },
    max_promotions: config.maxPromotions,
    drain: formatDuration(config.drainMs),
    log: { level: config.logLevel },
  };
  return stringify(effective, { lineWidth: 0, aliasDuplicateObjects: false });
}

function renderSource(source: TenantSource): Record<string, unknown> {
  switch (source.kind) {
    case 'header':
      return { header: source.name };
    case 'query':
      return { query: source.name };
    case 'metadata':
      return { metadata: { namespace: source.namespace, path: source.path } };
    case 'sigv4':
      return { sigv4: 'access_key' };
    case 'all':
      return { all: source.sources.map(renderSource) };
  }
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
  };
}
