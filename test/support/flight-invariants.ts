/**
 * What holds in a flight table between any two events, seen from its books and from the shell at once. It is looked at after
 * every event of millions of schedules: so it is loops. The limits are in `flight-limits.ts`.
 */

import type { Caller, Flight } from '../../src/coalesce/flight/flight.ts';
import { generationsOf } from '../../src/coalesce/table/board.ts';
import { isWithheld } from '../../src/coalesce/table/fleet/withholding.ts';
import { checkFleet, checkNoFleet } from './flight-fleet-invariants.ts';
import { checkLimits } from './flight-limits.ts';
import type { FlightWorld } from './flight-world.ts';

export { checkWaits } from './flight-limits.ts';

/** What is there, counted one by one. */
interface Census {
  callers: number;
  ticketed: number;
  replayBytes: number;
  requestBytes: number;
  running: number;
  published: number;
}

export function checkWorld(world: FlightWorld): void {
  const { judge } = world;
  const census: Census = { callers: 0, ticketed: 0, replayBytes: 0, requestBytes: 0, running: 0, published: 0 };
  for (const flight of world.deck.books.flights.values()) {
    checkFlight(world, flight);
    for (const caller of flight.callers) checkCaller(world, flight, caller);
    take(census, flight);
  }
  checkBooks(world, census);
  checkPartitions(world, census);
  checkLimits(world);
  checkFleet(world);
  judge.demand('books', world.callsTold === world.callsCaused, 'upstream calls are told as they are caused');
}

function take(census: Census, { state, request, callers, ending, fleet }: Flight): void {
  census.callers += callers.size;
  for (const caller of callers) if (caller.state.phase === 'ticketed') census.ticketed += 1;
  if ('answer' in state) census.replayBytes += state.answer.buffer.heldBytes;
  census.requestBytes += request?.body.length ?? 0;
  if (state.phase === 'calling' || (state.phase === 'answering' && fleet.role !== 'follows')) census.running += 1;
  if (ending === null) census.published += 1;
}

function checkFlight(world: FlightWorld, flight: Flight): void {
  const { judge } = world;
  const { state, id } = flight;
  let isReplay = false;
  for (const { role } of flight.callers) isReplay ||= role === 'replayed';
  let published = 0;
  for (const other of generationsOf(world.deck.books, flight.tenant, flight.key)) if (other === flight) published += 1;
  judge.demand('one flight', published === (flight.ending === null ? 1 : 0), 'has its key while it runs, once', id);
  const hasTold = world.endedFlights.has(id) === (flight.ending !== null && !isReplay);
  judge.demand('one ending', hasTold, 'has told its ending when it has one', id);
  const hasAnswer = state.phase === 'answering' && flight.fleet.role !== 'follows';
  const callsOrWill = ['calling', 'backingOff', 'admitting'].includes(state.phase) || hasAnswer;
  judge.demand('books', flight.holdsSlot === callsOrWill, 'has a slot for a call', id);
  checkPhase(world, flight);
}

function checkPhase(world: FlightWorld, flight: Flight): void {
  const { judge, deck, calls, policy } = world;
  const { state, id, callers } = flight;
  const isDue = deck.books.deadlines.dueAt(flight) !== null;
  let waiting = false;
  for (const caller of callers) waiting ||= caller.state.phase === 'waiting';
  switch (state.phase) {
    case 'boarding':
      return judge.demand('one ending', callers.size > 0 && !waiting && !isDue, 'boards for tickets only', id);
    case 'claiming':
      return judge.demand('one ending', callers.size > 0 && !isDue, 'asks for somebody', id);
    case 'following':
      // Who waits is due himself.
      return judge.demand('one ending', callers.size > 0 && !isDue, 'follows for somebody', id);
    case 'queued':
    case 'admitting':
      return judge.demand('one ending', callers.size > 0 && isDue, 'queues for somebody and not for ever', id);
    case 'calling':
    case 'answering': {
      judge.demand('one ending', isDue, 'has a deadline for its call', id);
      if (flight.fleet.role === 'follows') return judge.demand('one ending', callers.size > 0, 'has readers', id);
      judge.demand('books', calls.get(id)?.leader === state.leader, 'has a call that runs', id);
      const isLed = state.leader === null || deck.books.leaders.get(state.leader) === flight;
      judge.demand('books', isLed, 'has a leader', id);
      const isOrphan = flight.orphanedAt !== null;
      return judge.demand(
        'books',
        flight.leg === 'attached' || callers.size > 0 !== isOrphan,
        'is orphaned if empty',
        id,
      );
    }
    case 'backingOff':
      judge.demand('books', isDue && flight.request !== null && !calls.has(id), 'waits to call again', id);
      return judge.demand('limits', flight.attempts < policy.retry.maxAttempts, 'may call again', id);
    case 'landed':
      return judge.demand('nothing left', callers.size > 0 && !isDue, 'has landed and has readers', id);
    case 'releasing':
      return judge.demand('one ending', callers.size > 0 && (isDue || !waiting), 'releases those that wait', id);
    case 'refusing':
      return judge.demand('one ending', callers.size > 0 && !waiting && !isDue, 'has refused all that wait', id);
    case 'ended':
      return judge.demand('nothing left', false, 'is over and forgotten', id);
  }
}

function checkCaller(world: FlightWorld, flight: Flight, caller: Caller): void {
  const { judge, deck, riders } = world;
  const { state } = caller;
  judge.demand('books', caller.flight === flight, 'a caller knows its flight');
  const isDue = deck.books.deadlines.dueAt(caller) !== null;
  judge.demand('one ending', isDue !== (state.phase === 'streaming'), 'who has no bytes has a deadline');
  if (state.phase === 'ticketed') return;
  const rider = riders.get(state.exchange);
  judge.demand('nothing left', rider !== undefined, 'who is aboard rides');
  judge.demand('books', deck.books.aboard.get(state.exchange) === caller, 'who is aboard is known');
  if (rider === undefined) return;
  const source = world.sent.get(flight.id);
  const isItsOwn = source === undefined || source.question === rider.question;
  judge.demand('own key', isItsOwn, 'nobody is aboard a flight of another key');
  judge.demand('prefix', (rider.source !== null) === (state.phase === 'streaming'), 'who streams has a head');
  if (!('answer' in flight.state)) return;
  const { buffer } = flight.state.answer;
  // Its end wakes it.
  if (isWithheld(flight, deck.books.limits)) return;
  const hasMore =
    state.phase === 'waiting' ||
    caller.owedKeepAlive ||
    !buffer.isAtEnd(caller.cursor) ||
    flight.state.phase === 'landed';
  judge.demand('one ending', rider.woken || !hasMore, 'who has something to pull was woken');
}

function checkBooks({ judge, deck, riders, calls }: FlightWorld, census: Census): void {
  const { books: board } = deck;
  judge.demand('books', census.callers === board.callerCount, 'callers are counted');
  judge.demand('books', board.tickets.size === census.ticketed, 'a ticket is held for each that has not come yet');
  judge.demand('books', board.aboard.size === census.callers - census.ticketed, 'every other caller is aboard');
  judge.demand('books', census.replayBytes === board.replayBytes, 'replay bytes are counted');
  judge.demand('books', census.requestBytes === board.requestBytes, 'request bytes are counted');
  const places = board.flights.size + census.callers + board.negativeCache.size;
  judge.demand('books', board.deadlines.size <= places, 'deadlines belong to somebody');
  let leading = 0;
  for (const { role } of riders.values()) if (role === 'leader') leading += 1;
  judge.demand('one ending', riders.size - leading === board.aboard.size, 'who rides is aboard');
  judge.demand('one ending', leading === board.leaders.size, 'who leads is a leader');
  judge.demand('books', calls.size === census.running, 'a call runs for each flight that wants one, and no other');
}

function checkPartitions({ judge, deck }: FlightWorld, census: Census): void {
  let published = 0;
  for (const keys of deck.books.partitions.values()) {
    for (const generations of keys.values()) {
      judge.demand('books', generations.length > 0, 'no empty list of generations');
      published += generations.length;
      let last = 0;
      for (const flight of generations) {
        judge.demand('one flight', deck.books.flights.get(flight.id) === flight, 'a published flight is held');
        const number = Number(flight.id.slice(1));
        judge.demand('one flight', number > last, 'generations are in order');
        last = number;
      }
    }
  }
  judge.demand('one flight', published === census.published, 'flights that run are published, and no others');
}

/** When all have left or come to their end, and time has passed, nothing is held. */
export function checkEmpty(world: FlightWorld): void {
  const { judge, deck, riders, calls } = world;
  checkNoFleet(world);
  const { books: board, table } = deck;
  judge.demand('one ending', riders.size === 0, 'everybody has come to an end');
  const { flights, tickets, aboard, leaders, deadlines, partitions } = board;
  for (const { size } of [flights, tickets, aboard, leaders, deadlines, partitions]) {
    judge.demand('nothing left', size === 0, 'the books are empty');
  }
  const held = board.replayBytes + board.requestBytes + board.callerCount;
  judge.demand('nothing left', held === 0, 'nothing is held');
  judge.demand('nothing left', board.admission.isIdle, 'no slot is held and nobody queues');
  const { negativeCache } = board;
  judge.demand('nothing left', negativeCache.size === 0 && negativeCache.bytes === 0, 'no answer is kept');
  judge.demand('nothing left', calls.size === 0, 'no call runs');
  const isQuiet = table.nextDeadline === null && table.takeEffects().length === 0;
  judge.demand('nothing left', isQuiet, 'nothing is due');
  for (const total of Object.values(table.totals)) judge.demand('nothing left', total === 0, 'totals are 0');
}
