/** What holds in a flight table between any two events, seen from its books and from the shell at once. */

import { waitersOf, type Caller, type Flight } from '../../src/coalesce/flight/flight.ts';
import { generationsOf, type Board } from '../../src/coalesce/table/board.ts';
import { demand, type FlightWorld } from './flight-world.ts';

export function checkWorld(world: FlightWorld, board: Board): void {
  const flights = [...board.flights.values()];
  for (const flight of flights) checkFlight(world, board, flight);
  checkCallers(world, board, flights);
  checkBooks(world, board, flights);
  checkLimits(world, board, flights);
  const caused = world.facts.filter((fact) => fact.kind === 'upstreamCalled').length;
  demand(caused === world.callsCaused, `${caused} upstream calls are told, ${world.callsCaused} were caused`);
}

function checkFlight(world: FlightWorld, board: Board, flight: Flight): void {
  const { state, id } = flight;
  world.keys.set(id, flight.key);
  const isReplay = [...flight.callers].some(({ role }) => role === 'replayed');
  const published = generationsOf(board, flight.tenant, flight.key).filter((other) => other === flight).length;
  demand(published === (flight.ending === null ? 1 : 0), `${id} has its key while it runs, once`);
  demand(
    world.endedFlights.has(id) === (flight.ending !== null && !isReplay),
    `${id} has told its ending when it has one`,
  );
  const callsOrWill = state.phase === 'calling' || state.phase === 'answering' || state.phase === 'backingOff';
  demand(flight.holdsSlot === callsOrWill, `${id} has a slot for a call`);
  const due = board.deadlines.dueAt(flight);
  const waiting = [...flight.callers].some((caller) => caller.state.phase === 'waiting');
  switch (state.phase) {
    case 'boarding':
      demand(flight.callers.size > 0 && !waiting && due === null, `${id} boards for tickets only`);
      return;
    case 'queued':
      demand(flight.callers.size > 0 && due !== null, `${id} queues for somebody and not for ever`);
      return;
    case 'calling':
    case 'answering':
      demand(due !== null, `the call of ${id} has a deadline`);
      demand(world.calls.get(id)?.leader === state.leader, `the call of ${id} runs`);
      demand(state.leader === null || board.leaders.get(state.leader) === flight, `${id} has a leader`);
      demand(
        flight.leg === 'attached' || flight.callers.size > 0 === (flight.orphanedAt === null),
        `${id} is orphaned when empty`,
      );
      return;
    case 'backingOff':
      demand(due !== null && flight.request !== null && !world.calls.has(id), `${id} waits to call again`);
      demand(flight.attempts < world.policy.retry.maxAttempts, `${id} may call again`);
      return;
    case 'landed':
      demand(flight.callers.size > 0 && due === null, `${id} has landed and has readers`);
      return;
    case 'releasing':
      demand(flight.callers.size > 0 && (due !== null || !waiting), `${id} releases those that wait`);
      return;
    case 'refusing':
      demand(flight.callers.size > 0 && !waiting && due === null, `${id} has refused all that wait`);
      return;
    case 'ended':
      demand(false, `${id} is over and forgotten`);
  }
}

function checkCallers(world: FlightWorld, board: Board, flights: readonly Flight[]): void {
  const callers = flights.flatMap((flight) => [...flight.callers]);
  demand(callers.length === board.callerCount, 'callers are counted');
  const ticketed = callers.filter((caller) => caller.state.phase === 'ticketed').length;
  demand(board.tickets.size === ticketed, 'a ticket is held for each caller that has not come yet');
  demand(board.aboard.size === callers.length - ticketed, 'every other caller is aboard');
  for (const flight of flights) for (const caller of flight.callers) checkCaller(world, board, { flight, caller });
  const riders = [...world.riders.values()];
  demand(riders.filter(({ role }) => role === 'caller').length === board.aboard.size, 'who rides is aboard');
  demand(riders.filter(({ role }) => role === 'leader').length === board.leaders.size, 'who leads is a leader');
  const running = flights.filter(({ state }) => state.phase === 'calling' || state.phase === 'answering');
  demand(world.calls.size === running.length, 'a call runs for each flight that wants one, and no other');
}

function checkCaller(world: FlightWorld, board: Board, at: { flight: Flight; caller: Caller }): void {
  const { flight, caller } = at;
  const { state } = caller;
  demand(caller.flight === flight, 'a caller knows its flight');
  demand((board.deadlines.dueAt(caller) === null) === (state.phase === 'streaming'), 'who has no bytes has a deadline');
  if (state.phase === 'ticketed') return;
  const rider = world.riders.get(state.exchange);
  demand(rider !== undefined && board.aboard.get(state.exchange) === caller, 'who is aboard rides');
  demand(rider.key === flight.key, 'nobody is aboard a flight of another key');
  demand((rider.source !== null) === (state.phase === 'streaming'), 'who streams has a head');
  if (!('answer' in flight.state)) return;
  const { buffer } = flight.state.answer;
  const hasMore =
    state.phase === 'waiting' ||
    caller.owedKeepAlive ||
    !buffer.isAtEnd(caller.cursor) ||
    flight.state.phase === 'landed';
  demand(rider.woken || !hasMore, 'who has something to pull was woken');
}

function checkBooks(world: FlightWorld, board: Board, flights: readonly Flight[]): void {
  const held = flights.map(({ state }) => ('answer' in state ? state.answer.buffer.heldBytes : 0));
  demand(sum(held) === board.replayBytes, 'replay bytes are counted');
  demand(
    sum(flights.map(({ request }) => request?.body.length ?? 0)) === board.requestBytes,
    'request bytes are counted',
  );
  const { negativeCache } = board;
  demand(negativeCache.size <= world.policy.negativeCache.maxEntries, 'negative_cache.max_entries holds');
  demand(negativeCache.bytes <= board.limits.maxReplayBytes, 'the negative cache is bounded in bytes');
  const places = flights.length + sum(flights.map(({ callers }) => callers.size)) + negativeCache.size;
  demand(board.deadlines.size <= places, 'deadlines belong to somebody');
  for (const keys of board.partitions.values()) {
    for (const generations of keys.values()) {
      demand(generations.length > 0, 'no empty list of generations');
      for (const flight of generations) demand(board.flights.get(flight.id) === flight, 'a published flight is held');
      const numbers = generations.map(({ id }) => Number(id.slice(1)));
      demand(
        numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0)),
        'generations are in order',
      );
    }
  }
}

function checkLimits(world: FlightWorld, board: Board, flights: readonly Flight[]): void {
  const { limits, admission } = board;
  const max = limits.admission.maxUpstream;
  demand(max === 0 || world.calls.size <= max, 'max_upstream holds');
  const slots = flights.filter(({ holdsSlot }) => holdsSlot);
  demand(max === 0 || slots.length <= max, 'slots are counted');
  demand(
    admission.queueLength === flights.filter(({ state }) => state.phase === 'queued').length,
    'who queues is in the queue',
  );
  demand(admission.queueLength <= limits.admission.maxQueue, 'max_queue holds');
  demand(!admission.owesSlot, 'nobody queues while a slot is free');
  for (const { state, tenant, key } of flights) {
    const ofKey = slots.filter((other) => other.tenant === tenant && other.key === key).length;
    const stuck = state.phase === 'queued' && (max === 0 || slots.length < max) && ofKey < limits.maxGenerations;
    demand(!stuck, 'who queues waits for a slot, or for a generation of its key');
    demand(max === 0 || ofKey <= limits.maxGenerations, 'generations of a key that call');
  }
  demand(
    flights.length <= limits.maxFlights && board.callerCount <= limits.maxWaitersTotal,
    'flights and callers in all',
  );
  demand(board.requestBytes <= limits.maxRequestBytesTotal, 'request bytes in all');
  demand(board.replayBytes <= 2 * limits.maxReplayBytesTotal + 100 + heldUpBytes(flights), 'replay bytes in all');
  for (const flight of flights) {
    const isReplay = [...flight.callers].some(({ role }) => role === 'replayed');
    demand(isReplay || waitersOf(flight) <= world.policy.maxWaiters, `waiters of ${flight.id}`);
    const generations = generationsOf(board, flight.tenant, flight.key).length;
    demand(world.wasLimited || generations <= limits.maxGenerations, 'max_generations holds');
    checkReplay(flight, limits.maxReplayBytes);
  }
}

/** A detached flight may hold a cap before its front and one behind it, and the chunk that made it too much. */
function checkReplay(flight: Flight, cap: number): void {
  if (!('answer' in flight.state)) return;
  const { buffer, heldUp } = flight.state.answer;
  demand(buffer.heldBytes <= (flight.leg === 'attached' ? cap : 2 * cap + largestChunk), 'max_replay_bytes holds');
  const caughtUp = [...flight.callers].some(
    ({ state, cursor }) => state.phase === 'streaming' && buffer.isAtEnd(cursor),
  );
  demand(!heldUp || !caughtUp, 'no call is held up for a reader that has read everything');
}

const largestChunk = 30;

/** What calls hold that are held up already: they cannot do more. */
function heldUpBytes(flights: readonly Flight[]): number {
  return sum(
    flights.map(({ state }) => ('answer' in state && state.answer.heldUp ? state.answer.buffer.heldBytes : 0)),
  );
}

/** When all have left and time has passed, nothing is held. */
export function checkEmpty(world: FlightWorld, board: Board): void {
  const { flights, tickets, aboard, leaders, deadlines, partitions, replayBytes, requestBytes, callerCount } = board;
  const sizes = [flights, tickets, aboard, leaders, deadlines, partitions].map(({ size }) => size);
  demand(sum([...sizes, replayBytes, requestBytes, callerCount]) === 0, `books are empty: ${sizes.join()}`);
  demand(board.admission.isIdle, 'no slot is held and nobody queues');
  demand(board.negativeCache.size === 0 && board.negativeCache.bytes === 0, 'no answer is kept');
  demand(world.riders.size === 0 && world.calls.size === 0, 'nobody rides and no call runs');
  demand(world.deck.table.nextDeadline === null && world.deck.table.takeEffects().length === 0, 'nothing is due');
  demand(
    Object.values(world.deck.table.totals).every((total) => total === 0),
    'totals are 0',
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
