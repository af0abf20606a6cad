/** What came of comparing the answers of a would-be hit. */

import type { Difference } from '../answer/assembled.ts';
import type { Tokens } from '../answer/usage.ts';
import type { FlightId } from '../flight/flight.ts';
import type { Unfit } from './specimen.ts';

/** A would-be follower's place: which flight it would have joined, and for what. */
export interface WouldBeHit {
  readonly flight: FlightId;
  readonly key8: string;
  readonly model: string;
  /** Null where Envoy sends none. */
  readonly route: string | null;
  readonly policy: string;
}

/** `tokens`: what the would-be follower's own answer cost, where it says so. */
export type Comparison = WouldBeHit &
  (
    | { readonly verdict: 'same'; readonly tokens: Tokens }
    | { readonly verdict: 'diverged'; readonly difference: Difference; readonly tokens: Tokens }
    /** Of one of the two answers. */
    | { readonly verdict: 'none'; readonly why: Unfit }
  );
