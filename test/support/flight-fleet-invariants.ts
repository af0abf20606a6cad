/** What holds between a flight table and the fleet: as the table sees it and as the fleet does. */

import type { Flight } from '../../src/coalesce/flight/flight.ts';
import type { FlightWorld } from './flight-world.ts';

export function checkFleet(world: FlightWorld): void {
  const { judge, deck, fleet } = world;
  let claims = 0;
  let slots = 0;
  for (const flight of deck.books.flights.values()) {
    const claim = checkClaim(world, flight);
    checkSlot(world, flight);
    if (claim !== null) claims += 1;
    if (flight.holdsFleetSlot) slots += 1;
  }
  judge.demand('one publication', fleet.claims.size === claims, 'a claim belongs to a flight that wants it');
  judge.demand('books', fleet.slots.size === slots, 'a slot of the fleet belongs to a flight that wants it');
}

/** What the fleet should know of a flight; null: nothing. */
function checkClaim({ judge, fleet, limits, policy }: FlightWorld, flight: Flight): string | null {
  const { id, state } = flight;
  const claim = fleet.claims.get(id);
  const expected = expectedOf(flight);
  judge.demand('one publication', (claim?.phase ?? null) === expected, `is ${expected ?? 'nothing'} to the fleet`, id);
  const isAfar = fleet.afar.get(id);
  judge.demand('books', (isAfar !== undefined) === (expected === 'followed'), 'has an answer from afar', id);
  if (isAfar !== undefined)
    judge.demand('books', (isAfar.phase === 'answering') === (state.phase === 'answering'), 'is as far as that', id);
  if (claim?.phase !== 'led' || state.phase !== 'answering') return expected;
  const isLate = state.answer.buffer.length > Math.min(policy.lateJoin.maxBytes, limits.maxReplayBytes);
  judge.demand('one publication', claim.isClosed || !isLate, 'takes no followers that come too late', id);
  judge.demand('one publication', claim.published === state.answer.buffer.length, 'has published all', id);
  return expected;
}

function expectedOf({ state, fleet, ending }: Flight): 'asked' | 'led' | 'followed' | null {
  if (ending !== null) return null;
  if (state.phase === 'claiming') return 'asked';
  if (fleet.role === 'apart') return null;
  return fleet.role === 'leads' ? 'led' : 'followed';
}

function checkSlot({ judge, fleet }: FlightWorld, { id, state, holdsSlot, holdsFleetSlot }: Flight): void {
  const slot = fleet.slots.get(id);
  judge.demand('books', holdsFleetSlot === (slot !== undefined), 'knows what it has asked for', id);
  judge.demand('books', holdsSlot || !holdsFleetSlot, 'holds no slot of the fleet alone', id);
  judge.demand('one ending', (state.phase === 'admitting') === (slot === 'asked'), 'goes on with its slot', id);
}

export function checkNoFleet({ judge, fleet }: FlightWorld): void {
  const held = fleet.claims.size + fleet.slots.size + fleet.afar.size;
  judge.demand('nothing left', held === 0, 'nothing is left in the fleet');
}
