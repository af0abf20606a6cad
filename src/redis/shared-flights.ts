/**
 * The flight table that a fleet shares: per key at most one instance leads, the others follow its answer. What that means for
 * callers is the local table's to decide. Nothing behind this door throws, waits beyond its limits or makes a flight fail: where
 * Redis does not serve, a flight stands alone.
 */

import type { FleetFlight } from '../coalesce/flight/fleet-role.ts';
import type { FlightId } from '../coalesce/flight/flight.ts';
import type { Key } from '../coalesce/key/key.ts';
import type { HeaderList } from '../coalesce/request/head.ts';
import type { RedisConfig } from '../config/fleet/redis.ts';
import type { ClaimsOptions } from './claims.ts';
import type { Loss } from './reader.ts';
import type { SharedHead } from './stream/contents.ts';
import type { WellnessOptions } from './wellness.ts';

/** What the fleet tells of one local flight. All calls come later than what they answer, never from inside it. */
export interface SharedFlightEvents {
  /** This instance leads the fleet's flight of that key: it makes the upstream call and publishes the answer. */
  readonly led: (flight: FlightId, fleetFlight: FleetFlight) => void;
  /** Another instance leads; its answer follows as began, grew and ended, or lost. */
  readonly followed: (flight: FlightId, fleetFlight: FleetFlight) => void;
  /** Redis does not serve within the budget: the flight is this instance's own, and nothing is published. */
  readonly stoodAlone: (flight: FlightId) => void;
  /** `endOfStream`: this is the whole answer, and the last that comes. Headers are those that followers get. */
  readonly began: (flight: FlightId, head: SharedHead) => void;
  /** `bytes` are the receiver's own. */
  readonly grew: (flight: FlightId, bytes: Uint8Array) => void;
  /** The answer is whole. */
  readonly ended: (flight: FlightId, trailers: HeaderList | null) => void;
  /** No more of it will come. The flight may claim again. */
  readonly lost: (flight: FlightId, loss: Loss) => void;
  /** An upstream call may be made. */
  readonly slotGranted: (flight: FlightId) => void;
}

/** Calls for flights in another place than theirs are ignored, so that nobody need ask. */
export interface SharedFlights {
  /** Answered with led, followed or stoodAlone, within the budget and a tick. */
  readonly claim: (flight: FlightId, key: Key) => void;
  /** Of a flight that leads. After `closesAfterMs` it takes no more joiners. With `endOfStream` the answer is whole. */
  readonly publishHead: (flight: FlightId, head: SharedHead, options: { readonly closesAfterMs: number }) => void;
  /** `bytes` are read until they are written: nobody may change them. */
  readonly publishBytes: (flight: FlightId, bytes: Uint8Array) => void;
  readonly publishEnd: (flight: FlightId, trailers: HeaderList | null) => void;
  /** The flight ended otherwise than by a whole answer. */
  readonly publishFailure: (flight: FlightId) => void;
  /** It takes no more joiners: the next claim of its key begins a new generation. It goes on publishing. */
  readonly closeJoining: (flight: FlightId) => void;
  /** Nobody here wants the flight any more. What it leads fails; nothing more is told of it. */
  readonly leave: (flight: FlightId) => void;
  /** Reads no more of a followed answer, until `resume`. */
  readonly hold: (flight: FlightId) => void;
  readonly resume: (flight: FlightId) => void;
  /**
   * Whether callers of other instances read what this flight publishes, as of its last write; at the latest a third of a
   * lease ago, and for a lease after they have gone. A flight without callers here may still have them there. Nobody reads
   * what is published no more: its end was written, its lease or Redis was lost.
   */
  readonly isFollowed: (flight: FlightId) => boolean;
  /** Answered with slotGranted when the fleet has a free slot, or when Redis does not serve. */
  readonly takeSlot: (flight: FlightId) => void;
  /** Also ends waiting for one. */
  readonly giveSlotBack: (flight: FlightId) => void;
  /** Gives every lease and slot back, as far as Redis can be told within a second, then disconnects. */
  readonly close: () => Promise<void>;
}

export interface SharedFlightsOptions {
  readonly redis: RedisConfig;
  /** As of now; what it was at a claim holds for that claim's flight. */
  readonly secret: () => Uint8Array;
  readonly limits: () => { readonly maxReplayBytes: number; readonly maxUpstream: number };
  readonly events: SharedFlightEvents;
  /** Ms since 1970; the machine's clock unless given. */
  readonly wallClock?: () => number;
  readonly log: WellnessOptions['log'];
  readonly metrics: WellnessOptions['metrics'] & ClaimsOptions['metrics'] & { readonly countFencedWrite: () => void };
}
