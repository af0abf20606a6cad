/** The flying of a schedule from its first event to the end, when nothing may be left. */

import { generationsOf, type Board, type TableLimits } from '../../src/coalesce/table/board.ts';
import type { Effect } from '../../src/coalesce/table/effects.ts';
import type { FlightTable } from '../../src/coalesce/table/flight-table.ts';
import { lateJoinOf, waitersOf } from '../../src/coalesce/flight/flight.ts';
import { keyNamed, tenantNamed } from './flight-deck.ts';
import { checkEmpty, checkWaits, checkWorld } from './flight-invariants.ts';
import type { Invariant } from './flight-judge.ts';
import type { Event, Schedule } from './flight-schedules.ts';
import { count, type Tally } from './flight-tally.ts';
import { FlightWorld } from './flight-world.ts';

/** What is wrong with a run: stands for a broken shell or table. */
export interface Flaw {
  /** What it returns is carried out in the effect's place. */
  readonly tamper?: (effect: Effect) => readonly Effect[];
  readonly sabotage?: (board: Board, table: FlightTable) => void;
}

interface Flying {
  readonly flaw?: Flaw;
  /** Nothing but this is looked at. */
  readonly only?: Invariant;
  readonly tally?: Tally;
  /** Sees the table before its first event. */
  readonly watch?: (world: FlightWorld) => void;
}

/** Flies a schedule to its end, when all time has passed; the invariants are checked all along. */
export function fly(schedule: Schedule, { flaw = {}, only, tally, watch }: Flying = {}): void {
  const world = new FlightWorld(schedule, { tamper: flaw.tamper, only, tally });
  flaw.sabotage?.(world.deck.books, world.deck.table);
  watch?.(world);
  for (const event of schedule.events) {
    apply(world, event);
    checkWorld(world);
  }
  if (schedule.leave) for (const exchange of [...world.riders.keys()]) world.leave(exchange);
  else world.drinkAll();
  pass(world, 10_000_000, false);
  world.drinkAll();
  checkEmpty(world);
}

function apply(world: FlightWorld, event: Event): void {
  switch (event.kind) {
    case 'decide':
      return decide(world, event);
    case 'redeem':
      return world.redeem(event.pick, event.stolen);
    case 'redeemAgain':
      return world.redeemAgain(event.pick);
    case 'pass':
      return pass(world, event.ms, event.late);
    case 'raise':
      return world.raise(raised(world.limits, event.lift));
    case 'breakOffAll':
      count(world.tally, 'drains');
      world.deck.table.breakOffAll(world.deck.now);
      return world.settle();
    case 'leave':
    case 'pull': {
      const exchange = chosen(world.riders.keys(), world.riders.size, event.pick);
      if (exchange !== undefined) world[event.kind](exchange);
      return;
    }
    case 'answerClaim': {
      const asked = [...world.fleet.claims].filter(([, claim]) => claim.phase === 'asked');
      const flight = chosen(asked, asked.length, event.pick)?.[0];
      return flight === undefined ? undefined : world.answerClaim(flight, event.answer);
    }
    case 'lose': {
      const flight = chosen(world.fleet.afar.keys(), world.fleet.afar.size, event.pick);
      return flight === undefined ? undefined : world.lose(flight, event.why);
    }
    case 'grantSlot': {
      const flight = chosen(world.fleet.slots.keys(), world.fleet.slots.size, event.pick);
      return flight === undefined ? undefined : world.grantSlot(flight);
    }
    case 'watch': {
      const flight = chosen(world.fleet.claims.keys(), world.fleet.claims.size, event.pick);
      return flight === undefined ? undefined : world.watch(flight, event.isWatched);
    }
    case 'begin':
    case 'answerByEnvoy':
    case 'grow':
    case 'end':
    case 'break': {
      const { calls, fleet } = world;
      const all = fleet.afar.size === 0 ? calls.values() : [...calls.values(), ...fleet.afar.values()];
      const call = chosen(all, calls.size + fleet.afar.size, event.pick);
      if (call === undefined) return;
      if (event.kind === 'begin') world.begin(call, event);
      else if (event.kind === 'answerByEnvoy') world.answerByEnvoy(call);
      else if (event.kind === 'grow') world.grow(call, event.size);
      else if (event.kind === 'end') world.end(call, event.trailers);
      else world.break(call);
    }
  }
}

function chosen<Item>(items: Iterable<Item>, size: number, number: number): Item | undefined {
  let left = size === 0 ? 0 : number % size;
  for (const item of items) if (left-- === 0) return item;
  return undefined;
}

function decide(world: FlightWorld, event: Extract<Event, { kind: 'decide' }>): void {
  const { books: board, now } = world.deck;
  const [tenant, key] = [tenantNamed(event.tenant), keyNamed(event.key)];
  const generations = generationsOf(board, tenant, key);
  const newest = generations[generations.length - 1];
  const takesJoiners =
    newest !== undefined && lateJoinOf(newest, now) === 'open' && waitersOf(newest) < world.policy.maxWaiters;
  const decision = world.decide(event);
  if (decision.kind === 'board' && decision.role === 'follower') {
    world.judge.demand('one flight', decision.flight === newest?.id, 'only the newest generation takes joiners');
    world.judge.demand('one flight', takesJoiners, 'a flight that takes no joiners gets none');
  } else if (decision.kind === 'lead' || (decision.kind === 'board' && decision.role === 'leader')) {
    world.judge.demand('one flight', !takesJoiners, 'no flight begins beside one that takes joiners');
    if (newest !== undefined) count(world.tally, 'further generations');
  }
}

/** Time passes. `late`: the shell's timer sleeps meanwhile, and is overtaken by other events. */
function pass(world: FlightWorld, ms: number, late: boolean): void {
  world.pass(ms, late, () => checkWorld(world));
  if (late) count(world.tally, 'clock jumps');
  else checkWaits(world);
}

/** `lift`: there is no limit on upstream calls any more. */
function raised(limits: TableLimits, lift: boolean): TableLimits {
  const { maxUpstream } = limits.admission;
  return {
    ...limits,
    maxGenerations: limits.maxGenerations + 1,
    releaseRate: limits.releaseRate * 2,
    admission: { ...limits.admission, maxUpstream: lift || maxUpstream === 0 ? 0 : maxUpstream + 1 },
  };
}
