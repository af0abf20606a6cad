/** What the fleet answers and tells. An answer to a flight that has not asked, or asks no more, means nothing. */

import type { FleetFlight } from '../../flight/fleet-role.ts';
import type { FlightId } from '../../flight/flight.ts';
import type { Board } from '../board.ts';
import { admit, depart } from '../launching.ts';
import { loseLeader, type Loss } from './losing.ts';

export type FleetNews =
  /** This instance leads: the flight makes the call, and its answer is published. */
  | { readonly kind: 'led'; readonly fleetFlight: FleetFlight }
  /** Another one leads. Its answer comes like that of a call. */
  | { readonly kind: 'followed'; readonly fleetFlight: FleetFlight }
  /** The fleet cannot be asked: the flight makes the call for its own callers. */
  | { readonly kind: 'stoodAlone' }
  /** The leader that it follows is gone. */
  | { readonly kind: 'lost'; readonly why: Loss }
  | { readonly kind: 'slotGranted' };

export function hearFromFleet(board: Board, flightId: FlightId, news: FleetNews & { now: number }): void {
  const flight = board.flights.get(flightId);
  if (flight === undefined || flight.ending !== null) return;
  const { phase } = flight.state;
  const { now } = news;
  switch (news.kind) {
    case 'led':
      if (phase !== 'claiming') return;
      flight.fleet = { role: 'leads', fleetFlight: news.fleetFlight, takesJoiners: true };
      return admit(board, flight, now);
    case 'stoodAlone':
      return phase === 'claiming' ? admit(board, flight, now) : undefined;
    case 'followed':
      if (phase !== 'claiming') return;
      flight.fleet = { role: 'follows', fleetFlight: news.fleetFlight };
      flight.state = { phase: 'following', startedAt: now, leader: null };
      return;
    case 'lost':
      return flight.fleet.role === 'follows' ? loseLeader(board, flight, news) : undefined;
    case 'slotGranted':
      return phase === 'admitting' ? depart(board, flight, now) : undefined;
  }
}
