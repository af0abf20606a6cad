/**
 * What is awaited of one session. A client library does not settle everything that it was given (a Cluster's command on a
 * node that says nothing more outlives even the end of its client), so the session's loss does. Owns no session.
 */

export class Awaited {
  /** Oldest first. */
  readonly #marks = new Set<Mark>();

  /** When what has been due for the longest was asked for, in the time of `performance.now`; null where nothing is due. */
  get oldestAt(): number | null {
    const [oldest] = this.#marks;
    return oldest?.askedAt ?? null;
  }

  /** Settles as `reply` does, or rejects with the cause when the session is lost before. */
  of<Value>(reply: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const mark: Mark = { askedAt: performance.now(), reject };
      this.#marks.add(mark);
      reply.then(resolve, reject).finally(() => this.#marks.delete(mark));
    });
  }

  /** The session is lost: nothing more is due of it. */
  lose(cause: unknown): void {
    const marks = [...this.#marks];
    this.#marks.clear();
    for (const { reject } of marks) reject(cause);
  }
}

interface Mark {
  readonly askedAt: number;
  readonly reject: (cause: unknown) => void;
}
