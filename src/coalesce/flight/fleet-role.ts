/** What a flight is to the fleet: the processors that share their flights. A data type; who takes which role is decided elsewhere. */

export type FleetRole =
  /** Nothing: its answer is this process's own. */
  | { readonly role: 'apart' }
  /** Its call is the fleet's, and its answer is published. */
  | {
      readonly role: 'leads';
      /** Whether other instances may still begin to follow it. */
      takesJoiners: boolean;
    }
  /** Another instance leads, and this one reads the answer. */
  | { readonly role: 'follows' };

export const APART: FleetRole = { role: 'apart' };
