/**
 * What the flight table asks of its shell. Commands are to be carried out in order; facts are to be counted or logged.
 */

import type { Tokens } from '../answer/usage.ts';
import type { ErrorShape } from '../profiles/profile.ts';
import type { CancellationRole, FlightEnding } from '../flight/endings.ts';
import type { FleetFlight, FleetRole } from '../flight/fleet-role.ts';
import type {
  AnswerHead,
  CallRequest,
  ExchangeId,
  FlightId,
  Leg,
  RefusalReason,
  ReleaseReason,
} from '../flight/flight.ts';
import type { Key } from '../key/key.ts';
import type { HeaderList } from '../request/head.ts';
import type { ShedReason } from '../request/outcomes.ts';
import type { Comparison } from '../shadow/comparison.ts';

/** An answer of our own, in the shape of the provider's errors. */
export interface OwnAnswer {
  readonly status: 429 | 504;
  readonly reason: RefusalReason;
  readonly errorShape: ErrorShape;
  readonly retryAfterSeconds: number | null;
}

export type Command =
  /** There is something to pull for this exchange. */
  | { readonly kind: 'wake'; readonly exchange: ExchangeId }
  /** The waiting exchange goes upstream as its flight's leader; its answer is to be captured. */
  | { readonly kind: 'promote'; readonly exchange: ExchangeId; readonly flight: FlightId }
  /** The waiting exchange goes upstream by itself. */
  | { readonly kind: 'release'; readonly exchange: ExchangeId; readonly reason: ReleaseReason }
  | { readonly kind: 'refuse'; readonly exchange: ExchangeId; readonly answer: OwnAnswer }
  /** The exchange has bytes and gets no more: its stream must break. */
  | { readonly kind: 'cut'; readonly exchange: ExchangeId; readonly ending: FlightEnding }
  /** The attached leader's capture is of no more use; the exchange itself goes on. */
  | { readonly kind: 'stopCapture'; readonly exchange: ExchangeId }
  | { readonly kind: 'startCall'; readonly flight: FlightId; readonly request: CallRequest }
  | { readonly kind: 'cancelCall'; readonly flight: FlightId }
  /** Read no more of the call's answer for now. */
  | { readonly kind: 'holdCall'; readonly flight: FlightId }
  | { readonly kind: 'resumeCall'; readonly flight: FlightId }
  | FleetCommand;

/** To the fleet, where flights are shared. */
export type FleetCommand =
  /** Who leads the fleet's flight of this key? */
  | { readonly kind: 'claim'; readonly flight: FlightId; readonly key: Key }
  /** It follows no more, or does not want to know any more who leads. */
  | { readonly kind: 'leave'; readonly flight: FlightId }
  /** Read no more of the answer that is followed for now. */
  | { readonly kind: 'holdReading'; readonly flight: FlightId }
  | { readonly kind: 'resumeReading'; readonly flight: FlightId }
  /** The answer's head, for followers. `closesAfterMs`: how long from now on others may begin to follow. */
  | {
      readonly kind: 'publishHead';
      readonly flight: FlightId;
      readonly head: AnswerHead;
      readonly endOfStream: boolean;
      readonly closesAfterMs: number;
    }
  | { readonly kind: 'publishBytes'; readonly flight: FlightId; readonly bytes: Uint8Array }
  /** The answer is whole. */
  | { readonly kind: 'publishEnd'; readonly flight: FlightId; readonly trailers: HeaderList | null }
  /** There will be no whole answer. */
  | { readonly kind: 'publishFailure'; readonly flight: FlightId }
  /** Nobody may begin to follow any more. */
  | { readonly kind: 'closeJoining'; readonly flight: FlightId }
  | { readonly kind: 'takeSlot'; readonly flight: FlightId }
  | { readonly kind: 'giveSlotBack'; readonly flight: FlightId };

/** A flight's life in figures, told once at its end. */
export interface FlightReport {
  readonly id: FlightId;
  readonly key8: string;
  readonly leg: Leg;
  readonly model: string;
  /** Its name. */
  readonly policy: string;
  /** What it was to the fleet. */
  readonly fleet: FleetRole['role'];
  /** Null: apart. */
  readonly fleetFlight: FleetFlight | null;
  readonly ending: FlightEnding;
  readonly followers: number;
  readonly promotions: number;
  /** Upstream calls begun. */
  readonly attempts: number;
  /** In the queue for a slot. */
  readonly queuedMs: number;
  readonly bytes: number;
  readonly status: string | null;
  /** What the answer says it cost. */
  readonly tokens: Tokens | null;
  /** From the start of the upstream call; null where no answer began. */
  readonly firstByteMs: number | null;
  readonly ageMs: number;
}

export type Fact =
  | { readonly kind: 'missed' }
  | { readonly kind: 'hit'; readonly canonicalOnly: boolean }
  /** An answer is replayed from the negative cache. */
  | { readonly kind: 'negativeHit' }
  | { readonly kind: 'upstreamCalled' }
  | { readonly kind: 'firstByteCame'; readonly flight: FlightId; readonly afterMs: number }
  | { readonly kind: 'answerCompleted'; readonly flight: FlightId; readonly afterMs: number }
  | { readonly kind: 'followerServed'; readonly exchange: ExchangeId; readonly waitedMs: number }
  | { readonly kind: 'lateJoinRejected'; readonly reason: 'events' | 'bytes' | 'age' | 'waiters' }
  | { readonly kind: 'promoted' }
  | { readonly kind: 'leaderLost' }
  | { readonly kind: 'callerLeft'; readonly role: CancellationRole }
  | { readonly kind: 'shed'; readonly reason: ShedReason }
  | { readonly kind: 'wouldHit' }
  /** Under shadow, of two answers that would have been one. */
  | { readonly kind: 'compared'; readonly comparison: Comparison }
  /** What the followers of a flight that landed did not cost. */
  | {
      readonly kind: 'tokensSaved';
      readonly model: string;
      readonly prompt: number;
      readonly completion: number;
    }
  | { readonly kind: 'flightEnded'; readonly report: FlightReport }
  /** A bug; what it came up in was ended. */
  | { readonly kind: 'invariantBroken'; readonly error: unknown };

export type Effect = Command | Fact;
