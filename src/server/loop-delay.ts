/** How late the event loop runs: one timer, whose lateness is what an exchange would wait. */

const INTERVAL_MS = 100;

export interface LoopDelay {
  /** Milliseconds by which the last beat was late, or the present one is. */
  readonly current: () => number;
  readonly stop: () => void;
}

export function watchLoopDelay(): LoopDelay {
  let beatAt = performance.now();
  let lastDelay = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    lastDelay = Math.max(0, now - beatAt - INTERVAL_MS);
    beatAt = now;
  }, INTERVAL_MS);
  timer.unref();
  return {
    current: () => Math.max(lastDelay, performance.now() - beatAt - INTERVAL_MS),
    stop: () => clearInterval(timer),
  };
}
