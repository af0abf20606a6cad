/**
 * The model's invariants can fail: each mutant is a core or a shell that is broken in one place, and the invariant beside it
 * finds it, alone, with all others asleep.
 */

import { describe, expect, test } from 'vitest';

import { scheduleOf } from '../../harness/simulate/batch.ts';
import type { Flight } from '../../src/coalesce/flight/flight.ts';
import type { Key } from '../../src/coalesce/key/key.ts';
import type { Tenant } from '../../src/coalesce/request/tenant.ts';
import type { Board, TableLimits } from '../../src/coalesce/table/board.ts';
import type { Effect } from '../../src/coalesce/table/effects.ts';
import { fly, type Flaw } from '../support/flight-flying.ts';
import { invariants, Violation, type Invariant } from '../support/flight-judge.ts';

/** The most schedules that a mutant may survive. */
const SCHEDULES = 4_000;

const mutants: readonly [string, Invariant, Flaw][] = [
  ['a running flight is not found', 'one flight', { sabotage: (board) => (board.partitions.get = () => undefined) }],
  ['the oldest generation takes joiners', 'one flight', { sabotage: oldestFirst }],
  ['a call is started twice', 'one flight', { tamper: twice('startCall') }],
  ['a promotion is lost', 'one ending', { tamper: lost('promote') }],
  ['a wake is lost', 'one ending', { tamper: lost('wake') }],
  ['a release is lost', 'one ending', { tamper: lost('release') }],
  ['a refusal is lost', 'one ending', { tamper: lost('refuse') }],
  ['a cut is lost', 'one ending', { tamper: lost('cut') }],
  ['a capture is not stopped', 'one ending', { tamper: lost('stopCapture') }],
  ['a caller is released twice', 'one ending', { tamper: twice('release') }],
  ['a flight ends twice', 'one ending', { tamper: twice('flightEnded') }],
  ['a ticket can be used twice', 'one ending', { sabotage: (board) => (board.tickets.delete = () => true) }],
  [
    'a slot that is free is not given',
    'one ending',
    { sabotage: (board) => (board.admission.nextAdmitted = () => null) },
  ],
  ['a chunk is recorded twice', 'prefix', { sabotage: (_, table) => chunks(table, (grew) => (grew(), grew())) }],
  ['a chunk is lost', 'prefix', { sabotage: (_, table) => chunks(table, everyOther()) }],
  ['a follower begins where the others are', 'prefix', { sabotage: joinsAtTheEnd }],
  ['a break counts as the end', 'prefix', { sabotage: breaksAreEnds }],
  ['who has bytes is released', 'prefix', { tamper: cutIsRelease }],
  [
    'a kept answer is given to anybody',
    'own key',
    { sabotage: (board) => (board.negativeCache.find = anyEntry(board)) },
  ],
  ['tenants share a partition', 'own key', { sabotage: oneTenant }],
  ['keys share their flights', 'own key', { sabotage: oneKey }],
  ['a ticket is good for any exchange', 'own key', { sabotage: unbound }],
  ['max_flights is not heeded', 'limits', { sabotage: unlimited({ maxFlights: Infinity }) }],
  ['max_waiters_total is not heeded', 'limits', { sabotage: unlimited({ maxWaitersTotal: Infinity }) }],
  ['max_generations is not heeded', 'limits', { sabotage: unlimited({ maxGenerations: Infinity }) }],
  ['max_promotions is not heeded', 'limits', { sabotage: unlimited({ maxPromotions: Infinity }) }],
  ['max_replay_bytes is not heeded', 'limits', { sabotage: unlimited({ maxReplayBytes: Infinity }) }],
  ['max_request_bytes_total is not heeded', 'limits', { sabotage: unlimited({ maxRequestBytesTotal: Infinity }) }],
  ['ticket_ttl is not heeded', 'limits', { sabotage: unlimited({ ticketTtlMs: Infinity }) }],
  ['orphan_grace is not heeded', 'limits', { sabotage: unlimited({ orphanGraceMs: Infinity }) }],
  ['everybody has a slot', 'limits', { sabotage: (board) => (board.admission.isOpen = () => true) }],
  ['the queue has no end', 'limits', { sabotage: (board) => (board.admission.hasPlaceFor = () => true) }],
  ['all are released at once', 'limits', { sabotage: (board) => (board.pace.nextTurn = (_, now) => now) }],
  ['a deadline is not set', 'limits', { sabotage: (board) => (board.deadlines.set = () => undefined) }],
  ['max_waiters is not heeded', 'limits', { sabotage: crowded }],
  ['a slot is not given back', 'nothing left', { sabotage: (board) => (board.admission.giveBack = () => undefined) }],
  [
    'a place in the queue is kept',
    'nothing left',
    { sabotage: (board) => (board.admission.leaveQueue = () => undefined) },
  ],
  [
    'a kept answer is never forgotten',
    'nothing left',
    { sabotage: (board) => (board.negativeCache.forget = () => undefined) },
  ],
  ['a leader is never forgotten', 'nothing left', { sabotage: (board) => (board.leaders.delete = () => true) }],
  ['a caller is never forgotten', 'nothing left', { sabotage: (board) => (board.aboard.delete = () => true) }],
  ['a flight is never forgotten', 'nothing left', { sabotage: (board) => (board.flights.delete = () => true) }],
  ['a call is not cancelled', 'nothing left', { tamper: lost('cancelCall') }],
  ['the fleet is not asked', 'one publication', { tamper: lost('claim') }],
  ['who follows no more does not say so', 'one publication', { tamper: lost('leave') }],
  ['a chunk is not published', 'one publication', { tamper: lost('publishBytes') }],
  ['an answer is published without its end', 'one publication', { tamper: lost('publishEnd') }],
  ['a failure is published twice', 'one publication', { tamper: twice('publishFailure') }],
  ['the fleet is not told that it is too late to follow', 'one publication', { tamper: lost('closeJoining') }],
  ['a lost leader in another instance counts as the end', 'prefix', { sabotage: lossesAreEnds }],
  ['a slot of the fleet is not waited for', 'limits', { sabotage: noFleetSlots }],
  ['a slot of the fleet is not given back', 'nothing left', { tamper: lost('giveSlotBack') }],
  ['who follows holds a slot', 'books', { sabotage: slotsForFollowers }],
  ['a call is not started', 'books', { tamper: lost('startCall') }],
  ['an upstream call is counted twice', 'books', { tamper: twice('upstreamCalled') }],
];

test.for(mutants)('%s: %s', ([, invariant, flaw]) => {
  expect(findOf(invariant, flaw)).toBeInstanceOf(Violation);
});

describe('of the invariants', () => {
  test.for(invariants)('"%s" is what some mutant is found by', (invariant) => {
    expect(mutants.some(([, by]) => by === invariant)).toBe(true);
  });

  test.for(invariants)('"%s" finds nothing in the core as it is', (invariant) => {
    expect(findOf(invariant, {}, 500)).toBe(null);
  });
});

/** What one invariant finds; null where it finds nothing. A mutant may break down in other ways first. */
function findOf(only: Invariant, flaw: Flaw, schedules: number = SCHEDULES): Violation | null {
  for (let number = 0; number < schedules; number += 1) {
    try {
      fly(scheduleOf(7, number), { flaw, only });
    } catch (error) {
      if (error instanceof Violation) return error;
    }
  }
  return null;
}

type Tamper = NonNullable<Flaw['tamper']>;
type Sabotage = NonNullable<Flaw['sabotage']>;
type Table = Parameters<Sabotage>[1];

function lost(kind: Effect['kind']): Tamper {
  return (effect) => (effect.kind === kind ? [] : [effect]);
}

function twice(kind: Effect['kind']): Tamper {
  return (effect) => (effect.kind === kind ? [effect, effect] : [effect]);
}

function cutIsRelease(effect: Effect): readonly Effect[] {
  return effect.kind === 'cut' ? [{ kind: 'release', exchange: effect.exchange, reason: 'limit' }] : [effect];
}

function unlimited(limits: Partial<TableLimits>): Sabotage {
  return (board) => (board.limits = { ...board.limits, ...limits });
}

/** Every key of every tenant has its flights in an order in which the last is the oldest. */
function oldestFirst(board: Board): void {
  const set = board.partitions.set.bind(board.partitions);
  board.partitions.set = (tenant, keys) => {
    const setList = keys.set.bind(keys);
    keys.set = (key, flights) => setList(key, Object.assign(flights, { at: (): Flight | undefined => flights[0] }));
    return set(tenant, keys);
  };
}

function chunks(table: Table, change: (grew: () => void) => void): void {
  const grew = table.answerGrew.bind(table);
  table.answerGrew = (flight, came) => {
    change(() => grew(flight, came));
    return null;
  };
}

function everyOther(): (grew: () => void) => void {
  let number = 0;
  return (grew) => {
    if ((number += 1) % 2 === 0) grew();
  };
}

function joinsAtTheEnd(board: Board, table: Table): void {
  const redeem = table.redeem.bind(table);
  table.redeem = (presented, now) => {
    const redemption = redeem(presented, now);
    const caller = board.aboard.get(presented.exchange);
    const state = caller?.flight.state;
    if (caller !== undefined && state?.phase === 'answering') {
      while (state.answer.buffer.read(caller.cursor) !== null);
    }
    return redemption;
  };
}

function breaksAreEnds(_: Board, table: Table): void {
  table.answerBroke = (flight, now) => table.answerEnded(flight, { trailers: null, now });
}

function lossesAreEnds(board: Board, table: Table): void {
  const hear = table.hearFromFleet.bind(table);
  table.hearFromFleet = (flight, news) => {
    if (news.kind === 'lost' && board.flights.get(flight)?.state.phase === 'answering')
      table.answerEnded(flight, { trailers: null, now: news.now });
    else hear(flight, news);
  };
}

function noFleetSlots({ admission }: Board): void {
  const limitTo = admission.limitTo.bind(admission);
  admission.limitTo = (limits, slotsPerKey) => limitTo({ ...limits, scope: 'process' }, slotsPerKey);
  admission.limitTo(admission.limits, 4);
}

function slotsForFollowers(board: Board, table: Table): void {
  const hear = table.hearFromFleet.bind(table);
  table.hearFromFleet = (id, news) => {
    hear(id, news);
    const flight = board.flights.get(id);
    if (flight?.state.phase === 'following') board.admission.take(flight);
  };
}

/** Finds what was kept last, whosever it is. */
function anyEntry(board: Board): Board['negativeCache']['find'] {
  const keep = board.negativeCache.keep.bind(board.negativeCache);
  let last: ReturnType<Board['negativeCache']['find']> = null;
  board.negativeCache.keep = (entry, limit) => {
    last = entry;
    return keep(entry, limit);
  };
  return () => last;
}

function oneTenant({ partitions }: Board): void {
  const [get, set, forget] = [
    partitions.get.bind(partitions),
    partitions.set.bind(partitions),
    partitions.delete.bind(partitions),
  ];
  const all = 'all' as Tenant;
  partitions.get = () => get(all);
  partitions.set = (_, keys) => set(all, keys);
  partitions.delete = () => forget(all);
}

function oneKey({ partitions }: Board): void {
  const setTenant = partitions.set.bind(partitions);
  const all = 'all' as Key;
  partitions.set = (tenant, keys) => {
    if (partitions.get(tenant) === keys) return partitions;
    const [get, set, forget] = [keys.get.bind(keys), keys.set.bind(keys), keys.delete.bind(keys)];
    keys.get = () => get(all);
    keys.set = (_, flights) => set(all, flights);
    keys.delete = () => forget(all);
    return setTenant(tenant, keys);
  };
}

function unbound(board: Board, table: Table): void {
  const redeem = table.redeem.bind(table);
  table.redeem = (presented, now) => {
    const caller = [...board.tickets.values()].find(({ ticket }) => ticket === presented.ticket);
    return redeem({ ...presented, binding: caller?.binding ?? presented.binding }, now);
  };
}

function crowded(_: Board, table: Table): void {
  const decide = table.decide.bind(table);
  table.decide = (arrival, now) => decide({ ...arrival, policy: { ...arrival.policy, maxWaiters: Infinity } }, now);
}
