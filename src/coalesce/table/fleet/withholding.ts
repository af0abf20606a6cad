/**
 * An answer of known length from another instance is given out once it is whole: nobody reads its beginning before its end, and
 * whoever has nothing of it loses nothing with its leader or with Redis. One that is too long to be held is given out as it comes.
 */

import type { Flight } from '../../flight/flight.ts';
import type { TableLimits } from '../board.ts';

export function isWithheld({ state, fleet, recordsWhole }: Flight, { maxReplayBytes }: TableLimits): boolean {
  if (fleet.role !== 'follows' || state.phase !== 'answering' || !recordsWhole) return false;
  const { contentLength } = state.answer.head;
  return contentLength !== null && contentLength <= maxReplayBytes;
}
