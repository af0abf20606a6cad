/** Where flights are shared, a flight asks the fleet who leads before it calls; and for a slot, where the limit is the fleet's. */

import type { Flight } from '../../flight/flight.ts';
import type { Board } from '../board.ts';

/** Asks who leads. Its callers in deliver wait meanwhile. */
export function claim(board: Board, flight: Flight): void {
  flight.state = { phase: 'claiming' };
  board.effects.push({ kind: 'claim', flight: flight.id, key: flight.key });
}

/** Whether other instances read the answer of this flight. */
export function isReadElsewhere(board: Board, { fleet, id }: Flight): boolean {
  return fleet.role === 'leads' && board.isReadElsewhere(id);
}

/** Whether a slot of this process needs one of the fleet's beside it. */
export function needsFleetSlot({ sharesFlights, admission }: Board): boolean {
  return sharesFlights && admission.isLimited && admission.limits.scope === 'fleet';
}

/** Asks for a slot of the fleet, for a flight that has one of this process. `since`: when it began to wait for both. */
export function askForSlot(board: Board, flight: Flight, since: number): void {
  flight.holdsFleetSlot = true;
  flight.state = { phase: 'admitting', since };
  board.deadlines.set(flight, since + board.admission.limits.maxWaitMs);
  board.effects.push({ kind: 'takeSlot', flight: flight.id });
}
