/**
 * What a flight tells the fleet: its answer where it leads, and that it reads no more where it follows. To others it tells
 * what followers get, and no more.
 */

import { lateJoinOf, type AnswerHead, type Flight } from '../../flight/flight.ts';
import { replayedHeaders, replayedTrailers } from '../../flight/replayed-headers.ts';
import type { Effect } from '../effects.ts';

export function publishHead(flight: Flight, came: { head: AnswerHead; endOfStream: boolean }, to: Effect[]): void {
  if (flight.fleet.role !== 'leads') return;
  const head: AnswerHead = { ...came.head, headers: replayedHeaders(came.head.headers) };
  const closesAfterMs = flight.policy.lateJoin.maxAgeMs;
  to.push({ kind: 'publishHead', flight: flight.id, head, endOfStream: came.endOfStream, closesAfterMs });
}

/** Tells the bytes that were recorded last, and whether others may still begin to follow. */
export function publishGrowth(flight: Flight, came: { bytes: Uint8Array; now: number }, to: Effect[]): void {
  if (flight.fleet.role !== 'leads') return;
  to.push({ kind: 'publishBytes', flight: flight.id, bytes: came.bytes });
  if (!flight.fleet.takesJoiners || lateJoinOf(flight, came.now) === 'open') return;
  flight.fleet.takesJoiners = false;
  to.push({ kind: 'closeJoining', flight: flight.id });
}

/** The last word of a flight whose course has ended. */
export function partFromFleet(flight: Flight, to: Effect[]): void {
  const { id, state, fleet } = flight;
  switch (fleet.role) {
    case 'leads':
      if (state.phase !== 'landed') to.push({ kind: 'publishFailure', flight: id });
      else to.push({ kind: 'publishEnd', flight: id, trailers: state.trailers && replayedTrailers(state.trailers) });
      return;
    case 'follows':
      to.push({ kind: 'leave', flight: id });
      return;
    case 'apart':
      if (state.phase === 'claiming') to.push({ kind: 'leave', flight: id });
  }
}
