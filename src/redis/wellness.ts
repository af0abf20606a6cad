/**
 * Is Redis well enough to be asked? Feeds the breaker, tries an open one again in the background with what a decision
 * does, and tells log and metrics of each change once.
 */

import { randomBytes } from 'node:crypto';

import { nextBreaker, unproven, type Breaker, type BreakerEvent } from './breaker.ts';
import type { Link } from './link/link.ts';
import { claim, release } from './link/scripts.ts';

export interface WellnessOptions {
  readonly prefix: string;
  readonly budgetMs: number;
  readonly log: { readonly redisDown: (cause: unknown) => void; readonly redisUp: () => void };
  readonly metrics: { readonly setRedisUp: (up: boolean) => void };
}

const TRIAL_EVERY_MS = 500;
const TRIAL_LEASE_MS = '1000';

export class Wellness {
  readonly #options: WellnessOptions;
  #breaker: Breaker = unproven;
  /** What the log was told last. */
  #told: 'nothing' | 'down' | 'up' = 'nothing';
  #trial: { readonly link: Link; readonly timer: NodeJS.Timeout } | null = null;

  constructor(options: WellnessOptions) {
    this.#options = options;
    options.metrics.setRedisUp(false);
  }

  get isWell(): boolean {
    return this.#breaker.phase === 'closed';
  }

  succeeded(): void {
    this.#on('succeeded', null);
  }

  failed(cause: unknown): void {
    this.#on('failed', cause);
  }

  disconnected(cause: unknown): void {
    this.#on('disconnected', cause);
    if (this.#told === 'nothing') this.#tellDown(cause);
  }

  /** There is a connection: it is tried at once, and again until it serves. */
  connected(link: Link): void {
    this.stop();
    this.#trial = { link, timer: setInterval(() => this.#try(link), TRIAL_EVERY_MS) };
    this.#try(link);
  }

  stop(): void {
    if (this.#trial !== null) clearInterval(this.#trial.timer);
    this.#trial = null;
  }

  #on(event: BreakerEvent, cause: unknown): void {
    const before = this.#breaker.phase;
    this.#breaker = nextBreaker(this.#breaker, event);
    if (this.#breaker.phase === before) return;
    if (this.#breaker.phase === 'open') {
      this.#tellDown(cause);
      return;
    }
    this.#told = 'up';
    this.#options.metrics.setRedisUp(true);
    this.#options.log.redisUp();
  }

  #tellDown(cause: unknown): void {
    this.#told = 'down';
    this.#options.metrics.setRedisUp(false);
    this.#options.log.redisDown(cause);
  }

  /** Claims a key that nobody has, and gives it back: a server that only reads fails here as it does for a decision. */
  #try(link: Link): void {
    if (this.isWell || !link.isUp()) return;
    const token = randomBytes(16).toString('hex');
    const base = `${this.#options.prefix}trial:{${token}}`;
    const keys = [`${base}:lease`, `${base}:w:${token}`] as const;
    const startedAt = performance.now();
    link
      .run('decisions', claim, { keys, args: [token, TRIAL_LEASE_MS] })
      .then(
        (reply) => {
          const inTime = performance.now() - startedAt <= this.#options.budgetMs;
          if (inTime && String(reply) === token) this.#on('trialPassed', null);
          return link.run('decisions', release, { keys, args: [token, 'all'] });
        },
        (error: unknown) => {
          if (isReadOnly(error)) link.renew(error);
        },
      )
      // It goes by itself after a second.
      .catch(() => undefined);
  }
}

/** The server was a master once: another is one now. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}
