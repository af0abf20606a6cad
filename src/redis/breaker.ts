/**
 * Whether Redis may be asked for a decision: closed while it answers within the budget, open from some failures in a row
 * on, until it has answered a trial. Owns no clock and no sending.
 */

export type Breaker =
  /** Failures in a row. */
  { readonly phase: 'closed'; readonly failures: number } | { readonly phase: 'open' };

export type BreakerEvent =
  /** A decision came within the budget. */
  | 'succeeded'
  /** It came late, not at all, or as an error. */
  | 'failed'
  /** There is no connection: nothing is to be expected. */
  | 'disconnected'
  /** A trial was answered in time. */
  | 'trialPassed';

/** So that one slow answer costs no sharing. */
export const FAILURES_IN_A_ROW = 3;

/** Until Redis has answered for the first time, nothing is asked of it. */
export const unproven: Breaker = { phase: 'open' };

export function nextBreaker(breaker: Breaker, event: BreakerEvent): Breaker {
  switch (event) {
    case 'disconnected':
      return { phase: 'open' };
    case 'trialPassed':
      return { phase: 'closed', failures: 0 };
    case 'succeeded':
      return breaker.phase === 'open' ? breaker : { phase: 'closed', failures: 0 };
    case 'failed': {
      if (breaker.phase === 'open' || breaker.failures + 1 >= FAILURES_IN_A_ROW) return { phase: 'open' };
      return { phase: 'closed', failures: breaker.failures + 1 };
    }
  }
}
