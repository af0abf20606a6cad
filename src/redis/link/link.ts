/**
 * The standing connection to a Redis: opened, watched, opened again when it is lost. Owns which channels are listened to,
 * over all sessions. Says when it is up and down; what that means for flights is the callers'.
 */

import type { RedisUrl } from '../../config/fleet/redis-url.ts';
import { Awaited } from './awaited.ts';
import type { Script } from './scripts.ts';
import { openSession, type Lane, type Session } from './session.ts';

export interface Link {
  readonly isUp: () => boolean;
  /** Runs a script on the node that has the first key. Settles within `stuckMs` and a little, or rejects at once where it is down. */
  readonly run: (lane: Lane, script: Script, call: Call) => Promise<unknown>;
  /** Entries of a stream behind `after`, oldest first, at most `count`: each its sequence number and its payload; null for what is no such entry. */
  readonly range: (stream: string, after: number, count: number) => Promise<readonly (Entry | null)[]>;
  /** `listener` is called on every message and whenever some may have been missed, until `unlisten`. */
  readonly listen: (channel: string, listener: () => void) => Promise<void>;
  readonly unlisten: (channel: string, listener: () => void) => void;
  /** Gives the session up: it answers, but cannot be used (a master that has become a replica). */
  readonly renew: (cause: unknown) => void;
  readonly close: () => void;
}

export interface Call {
  readonly keys: readonly [string, ...string[]];
  readonly args: readonly (string | Buffer)[];
}

export interface Entry {
  readonly seq: number;
  readonly payload: Buffer;
}

export interface LinkOptions {
  readonly url: RedisUrl;
  /** A session in which an answer has been due for so long is given up. */
  readonly stuckMs: number;
  readonly up: () => void;
  readonly down: (cause: unknown) => void;
}

type State =
  | { readonly phase: 'opening' }
  | { readonly phase: 'up'; readonly session: Session; readonly awaited: Awaited; readonly since: number }
  | { readonly phase: 'waiting'; readonly timer: NodeJS.Timeout }
  | { readonly phase: 'closed' };

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;
const WATCH_MS = 250;

export function openLink(options: LinkOptions): Link {
  return new StandingLink(options);
}

class StandingLink implements Link {
  readonly #options: LinkOptions;
  readonly #channels = new Map<string, Channel>();
  readonly #watch: NodeJS.Timeout;
  #state: State = { phase: 'opening' };
  #failures = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#watch = setInterval(() => this.#giveUpStuck(), WATCH_MS);
    this.#open();
  }

  isUp = (): boolean => this.#state.phase === 'up';

  run = async (lane: Lane, script: Script, { keys, args }: Call): Promise<unknown> => {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#send(lane, keys[0], ['EVALSHA', script.sha, ...rest]);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.#send(lane, keys[0], ['EVAL', script.source, ...rest]);
    }
  };

  range = async (stream: string, after: number, count: number): Promise<readonly (Entry | null)[]> => {
    const command = ['XRANGE', stream, `(${after}-0`, '+', 'COUNT', String(count)];
    const reply = await this.#send('streams', stream, command);
    return Array.isArray(reply) ? reply.map(entryOf) : [null];
  };

  listen = async (channel: string, listener: () => void): Promise<void> => {
    const known = this.#channels.get(channel) ?? newChannel();
    known.listeners.add(listener);
    this.#channels.set(channel, known);
    // A channel that is listened to already is asked for again all the same: its confirmation is what is awaited.
    if (this.#state.phase === 'up') await this.#state.session.subscribe(channel, known.wake);
  };

  unlisten = (channel: string, listener: () => void): void => {
    const listeners = this.#channels.get(channel)?.listeners;
    listeners?.delete(listener);
    if (listeners?.size !== 0) return;
    this.#channels.delete(channel);
    if (this.#state.phase !== 'up') return;
    // Where this fails the session is lost, and its subscriptions with it.
    this.#state.session.unsubscribe(channel).catch(() => undefined);
  };

  renew = (cause: unknown): void => {
    if (this.#state.phase === 'up') this.#lose(this.#state.session, cause);
  };

  close = (): void => {
    const state = this.#state;
    this.#state = { phase: 'closed' };
    clearInterval(this.#watch);
    if (state.phase === 'waiting') clearTimeout(state.timer);
    if (state.phase !== 'up') return;
    state.session.destroy();
    state.awaited.lose(new Error('closed'));
  };

  async #send(lane: Lane, key: string, command: readonly (string | Buffer)[]): Promise<unknown> {
    if (this.#state.phase !== 'up') throw new Error('not connected');
    const { session, awaited } = this.#state;
    return awaited.of(session.send(lane, key, command));
  }

  #open(): void {
    this.#state = { phase: 'opening' };
    const { url, stuckMs } = this.#options;
    const opening: { session: Session | null; lost: { readonly cause: unknown } | null } = {
      session: null,
      lost: null,
    };
    const lost = (cause: unknown): void => {
      opening.lost ??= { cause };
      if (opening.session !== null) this.#lose(opening.session, cause);
    };
    openSession({ url, connectMs: stuckMs, lost }).then(
      (session) => {
        opening.session = session;
        if (opening.lost === null) this.#use(session);
        else this.#retry(session, opening.lost.cause);
      },
      (error: unknown) => this.#retry(null, error),
    );
  }

  #use(session: Session): void {
    if (this.#state.phase === 'closed') {
      session.destroy();
      return;
    }
    this.#state = { phase: 'up', session, awaited: new Awaited(), since: performance.now() };
    for (const [channel, { wake }] of this.#channels) {
      session.subscribe(channel, wake).then(wake, (error: unknown) => this.#lose(session, error));
    }
    this.#options.up();
  }

  #lose(session: Session, cause: unknown): void {
    if (this.#state.phase !== 'up' || this.#state.session !== session) return;
    const { awaited, since } = this.#state;
    // A server that takes connections and then refuses everything is not asked in a tight loop.
    if (performance.now() - since > LONGEST_RETRY_MS) this.#failures = 0;
    this.#retry(session, cause);
    awaited.lose(cause);
  }

  #retry(session: Session | null, cause: unknown): void {
    session?.destroy();
    if (this.#state.phase === 'closed') return;
    const longest = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures = Math.min(this.#failures + 1, 16);
    const timer = setTimeout(() => this.#open(), longest * (0.5 + Math.random() / 2));
    this.#state = { phase: 'waiting', timer };
    this.#options.down(cause);
  }

  #giveUpStuck(): void {
    if (this.#state.phase !== 'up') return;
    const { oldestAt } = this.#state.awaited;
    if (oldestAt === null || performance.now() - oldestAt < this.#options.stuckMs) return;
    this.renew(new Error(`no answer within ${this.#options.stuckMs} ms`));
  }
}

interface Channel {
  readonly listeners: Set<() => void>;
  readonly wake: () => void;
}

function newChannel(): Channel {
  const listeners = new Set<() => void>();
  const wake = (): void => {
    for (const listener of listeners) listener();
  };
  return { listeners, wake };
}

function entryOf(item: unknown): Entry | null {
  if (!Array.isArray(item)) return null;
  const [id, fields] = item as readonly unknown[];
  const match = /^(\d{1,15})-0$/.exec(String(id));
  const payload: unknown = Array.isArray(fields) ? fields[1] : null;
  return match !== null && Buffer.isBuffer(payload) ? { seq: Number(match[1]), payload } : null;
}
