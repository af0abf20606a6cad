/** Random schedules for a flight table, and the flying of one. */

import fc from 'fast-check';

import type { Leg } from '../../src/coalesce/flight/flight.ts';
import { generationsOf, type Board, type TableLimits } from '../../src/coalesce/table/board.ts';
import type { Effect } from '../../src/coalesce/table/effects.ts';
import { keyNamed, tenantNamed } from './flight-deck.ts';
import { checkEmpty, checkWorld } from './flight-invariants.ts';
import { demand, FlightWorld, type Options } from './flight-world.ts';

/** What happens next. `pick` chooses among those that there are at that moment. */
type Event =
  | {
      readonly kind: 'decide';
      readonly key: string;
      readonly tenant: string;
      readonly size: number;
      readonly slow: boolean;
    }
  | { readonly kind: 'redeem'; readonly pick: number; readonly stolen: boolean }
  | { readonly kind: 'redeemAgain' | 'leave' | 'break' | 'pull'; readonly pick: number }
  | ({ readonly kind: 'begin'; readonly pick: number } & Parameters<FlightWorld['begin']>[1])
  | { readonly kind: 'answerByEnvoy'; readonly pick: number }
  | { readonly kind: 'raise'; readonly lift: boolean }
  | { readonly kind: 'grow'; readonly pick: number; readonly size: number }
  | { readonly kind: 'end'; readonly pick: number; readonly trailers: boolean }
  | { readonly kind: 'pass'; readonly ms: number; readonly late: boolean }
  | { readonly kind: 'breakOffAll' };

const pick: fc.Arbitrary<number> = fc.nat({ max: 1_000 });
const size: fc.Arbitrary<number> = fc.integer({ min: 1, max: 30 });
const oftenFalse: fc.Arbitrary<boolean> = fc.constantFrom(false, false, false, true);

function often(
  weight: number,
  kind: Event['kind'],
  rest: Record<string, fc.Arbitrary<unknown>>,
): fc.WeightedArbitrary<Event> {
  return { weight, arbitrary: fc.record({ kind: fc.constant(kind), ...rest }) as fc.Arbitrary<Event> };
}

const eventArbitrary: fc.Arbitrary<Event> = fc.oneof(
  often(12, 'decide', {
    key: fc.constantFrom('p', 'p', 'q', 'r'),
    tenant: fc.constantFrom('a', 'a', 'b'),
    size,
    slow: fc.boolean(),
  }),
  often(12, 'redeem', { pick, stolen: oftenFalse }),
  often(2, 'redeemAgain', { pick }),
  often(4, 'leave', { pick }),
  often(8, 'begin', {
    pick,
    length: fc.constantFrom(null, null, 0, 40),
    endOfStream: oftenFalse,
    status: fc.constantFrom('200', '200', '400', '503'),
    events: fc.boolean(),
  }),
  often(2, 'answerByEnvoy', { pick }),
  often(1, 'raise', { lift: oftenFalse }),
  often(12, 'grow', { pick, size }),
  often(4, 'end', { pick, trailers: fc.boolean() }),
  often(4, 'break', { pick }),
  often(6, 'pull', { pick }),
  often(8, 'pass', { ms: fc.constantFrom(1, 20, 300, 1_500, 4_000), late: oftenFalse }),
  often(1, 'breakOffAll', {}),
);

const limitsArbitrary: fc.Arbitrary<TableLimits> = fc.record({
  maxWaitersTotal: fc.constantFrom(8, 10_000),
  maxGenerations: fc.constantFrom(1, 2, 4),
  maxFlights: fc.constantFrom(3, 10_000),
  maxReplayBytes: fc.constantFrom(50, 10_000),
  maxReplayBytesTotal: fc.constantFrom(90, 10_000),
  maxRequestBytesTotal: fc.constantFrom(60, 10_000),
  ticketTtlMs: fc.constantFrom(500, 10_000),
  releaseRate: fc.constantFrom(2, 50),
  maxPromotions: fc.constantFrom(0, 1, 3),
  orphanGraceMs: fc.constantFrom(0, 2_000),
  admission: fc.record({
    maxUpstream: fc.constantFrom(0, 0, 1, 1, 2),
    maxQueue: fc.constantFrom(0, 1, 2, 2, 5),
    maxWaitMs: fc.constantFrom(1_000, 30_000),
  }),
});

function apply(world: FlightWorld, board: Board, event: Event): void {
  const one = <Item>(items: Iterable<Item>, number: number): Item | undefined => {
    const all = [...items];
    return all[number % all.length];
  };
  switch (event.kind) {
    case 'decide': {
      const newest = generationsOf(board, tenantNamed(event.tenant), keyNamed(`${event.tenant}${event.key}`)).at(-1);
      const decision = world.decide(event);
      const joins = decision.kind === 'board' && decision.role === 'follower';
      demand(!joins || decision.flight === newest?.id, 'only the newest generation takes joiners');
      return;
    }
    case 'redeem':
      return world.redeem(event.pick, event.stolen);
    case 'redeemAgain':
      return world.redeemAgain(event.pick);
    case 'pass':
      return world.pass(event.ms, event.late, () => checkWorld(world, board));
    case 'raise':
      return world.raise(raised(board.limits, event.lift));
    case 'breakOffAll':
      world.deck.table.breakOffAll(world.deck.now);
      return world.settle();
    case 'leave':
    case 'pull': {
      const exchange = one(world.riders.keys(), event.pick);
      if (exchange !== undefined) world[event.kind](exchange);
      return;
    }
    case 'begin':
    case 'answerByEnvoy':
    case 'grow':
    case 'end':
    case 'break': {
      const call = one(world.calls.values(), event.pick);
      if (call === undefined) return;
      if (event.kind === 'begin') world.begin(call, event);
      else if (event.kind === 'answerByEnvoy') world.answerByEnvoy(call);
      else if (event.kind === 'grow') world.grow(call, event.size);
      else if (event.kind === 'end') world.end(call, event.trailers);
      else world.break(call);
    }
  }
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

export interface Schedule {
  readonly leg: Leg;
  readonly limits: TableLimits;
  readonly options: Options;
  readonly events: readonly Event[];
}

export const scheduleArbitrary: fc.Arbitrary<Schedule> = fc.record({
  leg: fc.constantFrom<Leg>('attached', 'detached'),
  limits: limitsArbitrary,
  options: fc.record({ retries: fc.boolean(), negativeCache: fc.boolean(), keepAlive: fc.boolean() }),
  events: fc.array(eventArbitrary, { minLength: 1, maxLength: 120, size: 'max' }),
});

/** What is wrong with a run: stands for a broken shell or table. */
export interface Flaw {
  readonly tamper?: (effect: Effect) => readonly Effect[];
  readonly sabotage?: (board: Board) => void;
}

interface Flying {
  /** The board of the table that was made last. */
  readonly boardOf: () => Board;
  readonly flaw?: Flaw;
  /** Sees the table before its first event. */
  readonly watch?: (world: FlightWorld, board: Board) => void;
}

/** Flies a schedule to its end, when everybody has left and all time has passed; the invariants are checked all along. */
export function fly(schedule: Schedule, { boardOf, flaw = {}, watch }: Flying): void {
  const world = new FlightWorld(schedule, flaw.tamper);
  const board = boardOf();
  flaw.sabotage?.(board);
  watch?.(world, board);
  for (const event of schedule.events) {
    apply(world, board, event);
    checkWorld(world, board);
  }
  for (const exchange of [...world.riders.keys()]) world.leave(exchange);
  world.pass(10_000_000, false, () => checkWorld(world, board));
  checkEmpty(world, board);
}

/** By phase before, the phases after, for each call of the table: `none` is a flight that is not yet, `ended` one that is no more. */
export type Transitions = Map<string, Map<string, Set<string>>>;

const calls = [
  'decide',
  'redeem',
  'exchangeEnded',
  'answerBegan',
  'answeredByEnvoy',
  'answerGrew',
  'answerEnded',
  'answerBroke',
  'pull',
  'expire',
  'limitTo',
  'breakOffAll',
] as const;

/** Notes into `seen` what each call of this world's table makes of the phases of all flights. */
export function watchTransitions(seen: Transitions, world: FlightWorld, board: Board): void {
  const phases = (): Map<string, string> =>
    new Map([...board.flights.values()].map(({ id, state }) => [id, state.phase]));
  const note = (call: string, before: Map<string, string>): void => {
    const after = phases();
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const [from, to] = [before.get(id) ?? 'none', after.get(id) ?? 'ended'];
      const row = seen.get(from) ?? new Map<string, Set<string>>();
      seen.set(from, row);
      const cause = from === 'queued' && (to === 'calling' || to === 'boarding') ? 'slotFreed' : call;
      row.set(cause, (row.get(cause) ?? new Set()).add(to));
    }
  };
  const { table } = world.deck;
  for (const call of calls) {
    const original = table[call].bind(table) as (...args: readonly unknown[]) => unknown;
    const watched = (...args: readonly unknown[]): unknown => {
      const before = phases();
      const result = original(...args);
      note(call, before);
      return result;
    };
    Object.assign(table, { [call]: watched });
  }
}
