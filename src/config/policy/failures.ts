/** What a policy says about an upstream's failures: which are tried again, and which are kept for a moment. */

import { z } from 'zod';

import type { NegativeCachePolicy, Policy, Retry } from '../../coalesce/request/policy.ts';
import { count, duration, scalar } from '../values/scalars.ts';
import { formatDuration } from '../values/durations-and-sizes.ts';

export const defaultRetry: Retry = { maxAttempts: 1, on: ['connect_failure', '502', '503', '504'], backoffMs: 200 };

export const defaultNegativeCache: NegativeCachePolicy = {
  ttlMs: 0,
  statuses: [400, 404, 413, 422],
  maxEntries: 1000,
};

const second = 1000;

/** Errors that may be gone a moment later, or that concern a caller's credentials and quota. */
const neverKept: ReadonlySet<number> = new Set([401, 403, 408, 409, 429]);

/** YAML reads 503 as a number: either will do. */
const retryReason: z.ZodType<string> = scalar(
  'connect_failure or a status from "400" to "599"',
  (value) => {
    const text = typeof value === 'number' ? String(value) : value;
    return typeof text === 'string' && /^(connect_failure|[45]\d\d)$/.test(text) ? text : null;
  },
  {
    anyOf: [
      { type: 'string', pattern: '^(connect_failure|[45][0-9]{2})$' },
      { type: 'integer', minimum: 400, maximum: 599 },
    ],
  },
);

const keptStatus: z.ZodType<number> = scalar(
  `a status from 400 to 499, but ${[...neverKept].join(', ')}, which may not come again`,
  (value) => {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    const isKept = typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 500;
    return isKept && !neverKept.has(status) ? status : null;
  },
  {
    anyOf: [
      { type: 'string', pattern: '^4[0-9]{2}$' },
      { type: 'integer', minimum: 400, maximum: 499 },
    ],
    not: { enum: [...neverKept] },
  },
);

/** `retry`, with `base` for what is not said. */
export function retry(base: Retry): z.ZodType<Retry> {
  return z
    .strictObject({
      max_attempts: count({ least: 1, most: 10 }).default(base.maxAttempts),
      on: z
        .array(retryReason)
        .max(64)
        .default([...base.on]),
      backoff: duration({ most: 60 * second }).default(base.backoffMs),
    })
    .prefault({})
    .transform((read) => ({ maxAttempts: read.max_attempts, on: read.on, backoffMs: read.backoff }));
}

/** `negative_cache`, with `base` for what is not said. */
export function negativeCache(base: NegativeCachePolicy): z.ZodType<NegativeCachePolicy> {
  return z
    .strictObject({
      ttl: duration({ most: 60 * second }).default(base.ttlMs),
      statuses: z
        .array(keptStatus)
        .max(64)
        .default([...base.statuses]),
      max_entries: count({ most: 1_000_000 }).default(base.maxEntries),
    })
    .prefault({})
    .transform((read) => ({ ttlMs: read.ttl, statuses: read.statuses, maxEntries: read.max_entries }));
}

/** As the file writes it. */
export function renderFailures({ retry, negativeCache }: Policy): Record<string, unknown> {
  return {
    retry: { max_attempts: retry.maxAttempts, on: retry.on, backoff: formatDuration(retry.backoffMs) },
    negative_cache: {
      ttl: formatDuration(negativeCache.ttlMs),
      statuses: negativeCache.statuses,
      max_entries: negativeCache.maxEntries,
    },
  };
}
