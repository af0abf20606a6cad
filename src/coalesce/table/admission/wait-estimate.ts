/** How long a queue of some length takes to pass: its length times the pace at which it has moved of late. */

/** SDKs wait no longer than a minute, and take a larger number for none. */
const LONGEST_SECONDS = 60;

/** What the latest step counts against those before it. */
const WEIGHT = 0.2;

export class WaitEstimate {
  /** When the queue moved last, or began; null while nobody waits. */
  #movedAt: number | null = null;
  #stepMs: number | null = null;

  /** The queue had nobody in it until now. */
  began(now: number): void {
    this.#movedAt = now;
  }

  /** Its first flight was admitted. */
  moved(now: number): void {
    const step = this.#sinceMoved(now);
    const earlier = this.#stepMs ?? step;
    this.#stepMs = earlier + WEIGHT * (step - earlier);
    this.#movedAt = now;
  }

  emptied(): void {
    this.#movedAt = null;
  }

  /** Whole seconds, 1 to 60. A queue that stands still for longer than it did before counts by that. */
  seconds(queueLength: number, now: number): number {
    const stepMs = Math.max(this.#stepMs ?? 0, this.#sinceMoved(now));
    const seconds = Math.ceil(((queueLength + 1) * stepMs) / 1000);
    return Math.min(LONGEST_SECONDS, Math.max(1, seconds));
  }

  #sinceMoved(now: number): number {
    return this.#movedAt === null ? 0 : now - this.#movedAt;
  }
}
