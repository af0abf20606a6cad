/** The negative cache at work: which answers are kept, and how one of them is given again. */

import { ReplayBuffer } from '../flight/replay-buffer.ts';
import type { Answer, Flight } from '../flight/flight.ts';
import type { HeaderList } from '../request/head.ts';
import type { Board } from './board.ts';
import type { NegativeEntry } from './negative-cache.ts';

/** The most that a kept answer may have, in bytes: errors are short. */
const ENTRY_LIMIT = 64 * 1024;

/** Keeps a flight's whole answer where its policy says so. */
export function keepNegative(
  board: Board,
  flight: Flight,
  came: { answer: Answer; trailers: HeaderList | null; now: number },
): void {
  const { ttlMs, statuses, maxEntries } = flight.policy.negativeCache;
  const { head, buffer } = came.answer;
  if (ttlMs === 0 || maxEntries === 0 || !statuses.includes(Number(head.status))) return;
  const bytes = wholeOf(buffer);
  const bytesLimit = Math.min(board.limits.maxReplayBytes, board.limits.maxReplayBytesTotal);
  if (bytes === null || bytes.length > Math.min(ENTRY_LIMIT, bytesLimit)) return;
  const { tenant, key } = flight;
  const until = came.now + ttlMs;
  const entry: NegativeEntry = { tenant, key, head, bytes, trailers: came.trailers, until, flight: null };
  for (const gone of board.negativeCache.keep(entry, { entries: maxEntries, bytes: bytesLimit })) {
    board.deadlines.remove(gone);
  }
  board.deadlines.set(entry, until);
}

/** The answer's body, copied; null where its beginning is no longer there. */
function wholeOf(buffer: ReplayBuffer): Uint8Array | null {
  const cursor = buffer.openCursor();
  if (cursor === null) return null;
  const parts: Uint8Array[] = [];
  for (let part = buffer.read(cursor); part !== null; part = buffer.read(cursor)) parts.push(part);
  return Buffer.concat(parts);
}

/** The flight through which an entry is replayed, from its first byte: the one that others board, else `fresh` made one. */
export function replayFlight(board: Board, entry: NegativeEntry, fresh: { flight: Flight; now: number }): Flight {
  const running = entry.flight;
  if (running?.state.phase === 'landed' && running.state.answer.buffer.openCursor() !== null) return running;
  const { flight, now } = fresh;
  const buffer = new ReplayBuffer(board.join);
  buffer.append(entry.bytes);
  const answer: Answer = {
    head: entry.head,
    buffer,
    events: null,
    edges: null,
    calledAt: now,
    firstByteAt: now,
    lastByteAt: now,
    keptAliveAt: null,
    heldUp: false,
  };
  flight.state = { phase: 'landed', answer, trailers: entry.trailers, tokens: null };
  flight.ending = 'failed_status';
  flight.request = null;
  board.flights.set(flight.id, flight);
  board.replayBytes += entry.bytes.length;
  entry.flight = flight;
  return flight;
}
