/** What a flight is to the fleet: the processors that share their flights. A data type; who takes which role is decided elsewhere. */

export type FleetRole =
  /** Nothing: its answer is this process's own. */
  | { readonly role: 'apart' }
  /** Its call is the fleet's, and its answer is published. */
  | {
      readonly role: 'leads';
      readonly fleetFlight: FleetFlight;
      /** Whether other instances may still begin to follow it. */
      takesJoiners: boolean;
    }
  /** Another instance leads, and this one reads the answer. */
  | { readonly role: 'follows'; readonly fleetFlight: FleetFlight };

/** What all instances call one flight of theirs in their logs: 16 lower-case hex digits. */
export type FleetFlight = string;

export const APART: FleetRole = { role: 'apart' };
