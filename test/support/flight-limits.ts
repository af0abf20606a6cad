/** The limits of a flight table, each held against what is there: as the operator has set them, whatever the table thinks. */

import { waitersOf, type Flight } from '../../src/coalesce/flight/flight.ts';
import { generationsOf } from '../../src/coalesce/table/board.ts';
import { LEADER_GRACE_MS } from '../../src/coalesce/table/call-deadlines.ts';
import type { FlightWorld } from './flight-world.ts';

/** The largest chunk that the upstream of a schedule sends. */
const LARGEST_CHUNK = 30;
/** What the table may hold over `max_replay_bytes_total`: the chunks that made it too much, and even shares beside them. */
const ALLOWANCE = 100;

export function checkLimits(world: FlightWorld): void {
  const { judge, deck, limits, policy } = world;
  const { flights, callerCount, requestBytes, negativeCache } = deck.books;
  judge.demand('limits', flights.size <= limits.maxFlights, 'max_flights holds');
  judge.demand('limits', callerCount <= limits.maxWaitersTotal, 'max_waiters_total holds');
  judge.demand('limits', requestBytes <= limits.maxRequestBytesTotal, 'max_request_bytes_total holds');
  judge.demand('limits', negativeCache.size <= policy.negativeCache.maxEntries, 'negative_cache.max_entries holds');
  judge.demand('limits', negativeCache.bytes <= limits.maxReplayBytes, 'the negative cache is bounded in bytes');
  checkAdmission(world);
  for (const flight of flights.values()) checkFlight(world, flight);
  checkReplayTotal(world);
}

function checkFlight(world: FlightWorld, flight: Flight): void {
  const { judge, limits, policy } = world;
  let isReplay = false;
  for (const { role } of flight.callers) isReplay ||= role === 'replayed';
  judge.demand('limits', isReplay || waitersOf(flight) <= policy.maxWaiters, 'has max_waiters at most', flight.id);
  judge.demand('limits', flight.promotions <= limits.maxPromotions || flight.ending !== null, 'max_promotions holds');
  const generations = generationsOf(world.deck.books, flight.tenant, flight.key).length;
  judge.demand('limits', world.wasLimited || generations <= limits.maxGenerations, 'max_generations holds');
  checkReplay(world, flight);
}

/** A flight that can slow down what comes may hold a cap before its front and one behind it, and the chunk that made it too much. */
function checkReplay({ judge, limits }: FlightWorld, flight: Flight): void {
  if (!('answer' in flight.state)) return;
  const { buffer, heldUp } = flight.state.answer;
  const cap = limits.maxReplayBytes;
  const held = buffer.heldBytes;
  const paces = flight.leg === 'detached' || flight.fleet.role === 'follows';
  judge.demand('limits', held <= (paces ? 2 * cap + LARGEST_CHUNK : cap), 'max_replay_bytes holds');
  if (!heldUp) return;
  for (const { state, cursor } of flight.callers) {
    const hasAll = state.phase === 'streaming' && buffer.isAtEnd(cursor);
    judge.demand('one ending', !hasAll, 'no call is held up for a reader that has read everything');
  }
}

/** Calls that are held up already cannot hold more. */
function checkReplayTotal({ judge, deck, limits }: FlightWorld): void {
  let heldUp = 0;
  for (const { state } of deck.books.flights.values()) {
    if ('answer' in state && state.answer.heldUp) heldUp += state.answer.buffer.heldBytes;
  }
  const most = 2 * limits.maxReplayBytesTotal + ALLOWANCE + heldUp;
  judge.demand('limits', deck.books.replayBytes <= most, 'max_replay_bytes_total holds');
}

function checkAdmission({ judge, deck, limits, calls }: FlightWorld): void {
  const { flights, admission } = deck.books;
  const { maxUpstream, maxQueue } = limits.admission;
  let slots = 0;
  let queued = 0;
  for (const { holdsSlot, state } of flights.values()) {
    if (holdsSlot) slots += 1;
    if (state.phase === 'queued') queued += 1;
  }
  judge.demand('limits', maxUpstream === 0 || calls.size <= maxUpstream, 'max_upstream holds');
  judge.demand('limits', maxUpstream === 0 || slots <= maxUpstream, 'slots are counted');
  judge.demand('books', admission.queueLength === queued, 'who queues is in the queue');
  judge.demand('limits', queued <= maxQueue, 'max_queue holds');
  judge.demand('one ending', !admission.owesSlot, 'nobody queues while a slot is free');
  if (maxUpstream === 0 && queued === 0) return;
  for (const { state, tenant, key } of flights.values()) {
    let ofKey = 0;
    for (const other of generationsOf(deck.books, tenant, key)) if (other.holdsSlot) ofKey += 1;
    const hasSlot = maxUpstream === 0 || slots < maxUpstream;
    const isStuck = state.phase === 'queued' && hasSlot && ofKey < limits.maxGenerations;
    judge.demand('one ending', !isStuck, 'who queues waits for a slot, or for a generation of its key');
    judge.demand('limits', maxUpstream === 0 || ofKey <= limits.maxGenerations, 'generations of a key that call');
  }
}

/** Once the timer has run nobody has waited for too long. */
export function checkWaits({ judge, deck, limits, policy }: FlightWorld): void {
  const { now } = deck;
  const { firstByteMs, idleMs, totalMs, waitMs } = policy.deadlines;
  const within = (since: number, limitMs: number, what: string): void =>
    judge.demand('limits', now < since + limitMs, what);
  for (const { state, callers, orphanedAt, fleet } of deck.books.flights.values()) {
    if (state.phase === 'queued' || state.phase === 'admitting')
      within(state.since, limits.admission.maxWaitMs, 'max_wait holds');
    const isOwn = fleet.role !== 'follows';
    if ('startedAt' in state && isOwn) within(state.startedAt, totalMs, 'deadlines.total holds');
    if (state.phase === 'calling' || state.phase === 'backingOff')
      within(state.startedAt, firstByteMs, 'deadlines.first_byte holds');
    // The silence of a call that is held up for its readers is not its own.
    if (state.phase === 'answering' && isOwn && !state.answer.heldUp)
      within(state.answer.lastByteAt, idleMs, 'deadlines.idle holds');
    if (state.phase === 'answering' && !isOwn)
      within(state.answer.firstByteAt, totalMs + LEADER_GRACE_MS, 'nobody follows for ever');
    if (orphanedAt !== null && 'startedAt' in state) within(orphanedAt, limits.orphanGraceMs, 'orphan_grace holds');
    for (const caller of callers) {
      if (caller.state.phase !== 'streaming') within(caller.arrivedAt, waitMs, 'deadlines.wait holds');
      if (caller.state.phase === 'ticketed') within(caller.arrivedAt, limits.ticketTtlMs, 'ticket_ttl holds');
    }
  }
}
