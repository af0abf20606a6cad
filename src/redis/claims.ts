/**
 * The fleet's decisions: who leads a key. Owns the budget of each, and that what was led too late is given back.
 */

import { randomBytes } from 'node:crypto';

import { isReadOnly, type Wellness } from './wellness.ts';
import type { Link } from './link/link.ts';
import { claim, release } from './link/scripts.ts';
import { isToken, type KeyNames } from './stream/names.ts';

export type Claimed =
  | { readonly kind: 'led'; readonly token: string }
  | { readonly kind: 'followed'; readonly token: string }
  | { readonly kind: 'alone' };

export interface ClaimsOptions {
  readonly link: Link;
  readonly wellness: Wellness;
  readonly leaseMs: number;
  readonly budgetMs: number;
  readonly metrics: {
    readonly countRedisClaim: (answer: 'led' | 'followed' | 'alone') => void;
    readonly observeRedisClaim: (ms: number) => void;
  };
}

/** Leases that may lie in Redis without their owner knowing. They end by themselves: beyond these they do. */
const MAX_UNCERTAIN = 1_000;

/** Flights whose leader was silent: nobody follows them twice. */
const MAX_SILENT = 1_000;

export class Claims {
  readonly #options: ClaimsOptions;
  readonly #uncertain = new Map<string, KeyNames>();
  readonly #silent = new Set<string>();

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  /** Tells exactly once, later than this call and within the budget and a tick. Returns how to lose interest. */
  claim(names: KeyNames, tell: (claimed: Claimed) => void): () => void {
    const decision = new Decision(names, tell, this.#options.metrics);
    if (this.#options.wellness.isWell) this.#ask(decision);
    else queueMicrotask(() => decision.decide({ kind: 'alone' }));
    return () => decision.decide(null);
  }

  /** Of a followed flight whose leader said nothing, or nothing that can be trusted. */
  distrust(token: string): void {
    this.#silent.add(token);
    const [oldest] = this.#silent;
    if (this.#silent.size > MAX_SILENT && oldest !== undefined) this.#silent.delete(oldest);
  }

  giveBack(names: KeyNames, token: string): void {
    const keys = [names.pointer, names.flight(token).writer] as const;
    this.#options.link.run('decisions', release, { keys, args: [token, 'all'] }).catch(() => {
      if (this.#uncertain.size < MAX_UNCERTAIN) this.#uncertain.set(token, names);
    });
  }

  /** Redis can be reached again. */
  giveBackUncertain(): void {
    const uncertain = [...this.#uncertain];
    this.#uncertain.clear();
    for (const [token, names] of uncertain) this.giveBack(names, token);
  }

  #ask(decision: Decision): void {
    const { link, wellness, leaseMs, budgetMs, metrics } = this.#options;
    const { names, token } = decision;
    const startedAt = performance.now();
    // An answer that lies in the socket already still counts: the loop has been late, not Redis.
    const overdue = (): void => {
      if (decision.decide({ kind: 'alone' })) wellness.failed(new Error(`no decision within ${budgetMs} ms`));
    };
    const timer = setTimeout(() => setImmediate(overdue), budgetMs);
    const keys = [names.pointer, names.flight(token).writer] as const;
    link.run('decisions', claim, { keys, args: [token, String(leaseMs)] }).then(
      (reply) => {
        clearTimeout(timer);
        metrics.observeRedisClaim(performance.now() - startedAt);
        const inTime = decision.decide(this.#claimed(token, reply));
        if (inTime) wellness.succeeded();
        else if (String(reply) === token) this.giveBack(names, token);
      },
      (error: unknown) => {
        clearTimeout(timer);
        if (this.#uncertain.size < MAX_UNCERTAIN) this.#uncertain.set(token, names);
        if (decision.decide({ kind: 'alone' })) wellness.failed(error);
        if (isReadOnly(error)) link.renew(error);
      },
    );
  }

  #claimed(token: string, reply: unknown): Claimed {
    const leader = String(reply);
    if (leader === token) return { kind: 'led', token };
    return isToken(leader) && !this.#silent.has(leader) ? { kind: 'followed', token: leader } : { kind: 'alone' };
  }
}

/** One claim, open until it is decided or nobody wants to know any more. */
class Decision {
  readonly names: KeyNames;
  readonly token: string = randomBytes(16).toString('hex');
  readonly #tell: (claimed: Claimed) => void;
  readonly #metrics: ClaimsOptions['metrics'];
  #open = true;

  constructor(names: KeyNames, tell: (claimed: Claimed) => void, metrics: ClaimsOptions['metrics']) {
    this.names = names;
    this.#tell = tell;
    this.#metrics = metrics;
  }

  /** Null: nobody wants to know. False where it was decided before. */
  decide(claimed: Claimed | null): boolean {
    if (!this.#open) return false;
    this.#open = false;
    if (claimed === null) return true;
    this.#metrics.countRedisClaim(claimed.kind);
    this.#tell(claimed);
    return true;
  }
}
