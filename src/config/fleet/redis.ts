/** `redis`: what the configuration says of the table that a fleet of processors shares. */

import { z } from 'zod';

import { formatDuration } from '../values/durations-and-sizes.ts';
import { duration, flag, matching } from '../values/scalars.ts';
import { formatRedisUrl, parseRedisUrl, type RedisUrl } from './redis-url.ts';

export interface RedisConfig {
  readonly url: RedisUrl;
  /** Before every name. */
  readonly prefix: string;
  /** How long an instance that says nothing still leads its flights. */
  readonly leaseMs: number;
  /** The longest that a decision waits for Redis. */
  readonly budgetMs: number;
  /** False: what is written can be read by who reads Redis, but not changed unnoticed. */
  readonly encrypt: boolean;
}

const second = 1000;

/** A password may stand in it: no message repeats it. */
const url: z.ZodType<RedisUrl> = z
  .unknown()
  .transform((value, context) => {
    const parsed = typeof value === 'string' ? parseRedisUrl(value) : null;
    if (parsed !== null) return parsed;
    const forms = 'redis://HOST:PORT, redis+sentinel://HOST:PORT,…/MASTER or redis+cluster://HOST:PORT,…';
    const allowed = `${forms}, rediss… for TLS, with USER:PASSWORD@ before the hosts (percent-encoded)`;
    context.addIssue({ code: 'custom', message: `not the URL of a Redis, expected ${allowed}` });
    return z.NEVER;
  })
  .meta({ type: 'string', pattern: '^rediss?(\\+sentinel|\\+cluster)?://' });

/** Braces would move the hash tag that keeps a flight's names on one node. */
const prefix = matching(/^[A-Za-z0-9:._-]{0,64}$/, 'up to 64 of A-Z a-z 0-9 : . _ -');

export const redis: z.ZodType<RedisConfig | null> = z
  .strictObject({
    url,
    prefix: prefix.default('coalesce:'),
    lease: duration({ least: 100, most: 60 * second }).default(5 * second),
    budget: duration({ least: 1, most: second }).default(5),
    encrypt: flag().default(true),
  })
  .transform((read) => ({
    url: read.url,
    prefix: read.prefix,
    leaseMs: read.lease,
    budgetMs: read.budget,
    encrypt: read.encrypt,
  }))
  .nullable();

/** As the file writes it, passwords redacted. */
export function renderRedis(config: RedisConfig | null): Record<string, unknown> | null {
  if (config === null) return null;
  return {
    url: formatRedisUrl(config.url),
    prefix: config.prefix,
    lease: formatDuration(config.leaseMs),
    budget: formatDuration(config.budgetMs),
    encrypt: config.encrypt,
  };
}
