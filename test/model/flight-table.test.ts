/**
 * Any schedule of events leaves the flight table's books right, every caller with the bytes of one flight and one ending,
 * and in the end nothing. `MODEL_SEED` and `MODEL_RUNS` repeat and lengthen a run; a failure prints its seed.
 */

import process from 'node:process';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';

import type { Leg } from '../../src/coalesce/flight/flight.ts';
import type * as BoardModule from '../../src/coalesce/table/board.ts';
import { generationsOf, type Board, type TableLimits } from '../../src/coalesce/table/board.ts';
import type { Effect } from '../../src/coalesce/table/effects.ts';
import { keyNamed, tenantNamed } from '../support/flight-deck.ts';
import { checkEmpty, checkWorld } from '../support/flight-invariants.ts';
import { demand, FlightWorld, Violation } from '../support/flight-world.ts';

const boards: Board[] = [];
vi.mock('../../src/coalesce/table/board.ts', async (importOriginal) => {
  const original = await importOriginal<typeof BoardModule>();
  const createBoard: typeof original.createBoard = (options) => {
    const board = original.createBoard(options);
    boards.splice(0, boards.length, board);
    return board;
  };
  return { ...original, createBoard };
});

const pick = fc.nat({ max: 1_000 });
const size = fc.integer({ min: 1, max: 30 });

const eventArbitrary = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('decide'), key: fc.constantFrom('p', 'q'), tenant: fc.constantFrom('a', 'a', 'b'), size, slow: fc.boolean() }) }, // prettier-ignore
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('redeem'), pick, stolen: fc.constantFrom(false, false, false, true) }) }, // prettier-ignore
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('redeemAgain'), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave'), pick }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('begin'), pick, length: fc.constantFrom(null, null, 0, 40), endOfStream: fc.constantFrom(false, false, false, true) }) }, // prettier-ignore
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('grow'), pick, size }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end'), pick, trailers: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('break'), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pull'), pick }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.constantFrom(1, 20, 300, 1_500, 4_000), late: fc.constantFrom(false, false, true) }) }, // prettier-ignore
);
type Event = typeof eventArbitrary extends fc.Arbitrary<infer Kind> ? Kind : never;

const limitsArbitrary = fc.record({
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
    maxUpstream: fc.constantFrom(0, 0, 1, 2),
    maxQueue: fc.constantFrom(0, 1, 5),
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
    case 'leave':
    case 'pull': {
      const exchange = one(world.riders.keys(), event.pick);
      if (exchange !== undefined) world[event.kind](exchange);
      return;
    }
    case 'begin':
    case 'grow':
    case 'end':
    case 'break': {
      const call = one(world.calls.values(), event.pick);
      if (call === undefined) return;
      if (event.kind === 'begin') world.begin(call, event);
      else if (event.kind === 'grow') world.grow(call, event.size);
      else if (event.kind === 'end') world.end(call, event.trailers);
      else world.break(call);
    }
  }
}

type Tamper = (effect: Effect) => readonly Effect[];
type Sabotage = (board: Board) => void;

interface Schedule {
  readonly leg: Leg;
  readonly limits: TableLimits;
  readonly events: readonly Event[];
}

function fly(schedule: Schedule, flaw: { tamper?: Tamper; sabotage?: Sabotage } = {}): void {
  const world = new FlightWorld(schedule.leg, schedule.limits, flaw.tamper);
  const [board] = boards;
  if (board === undefined) throw new Error('the table made no board');
  flaw.sabotage?.(board);
  for (const event of schedule.events) {
    apply(world, board, event);
    checkWorld(world, board);
  }
  for (const exchange of [...world.riders.keys()]) world.leave(exchange);
  world.pass(10_000_000, false, () => checkWorld(world, board));
  checkEmpty(world, board);
}

const scheduleArbitrary = fc.record({
  leg: fc.constantFrom<Leg>('attached', 'detached'),
  limits: limitsArbitrary,
  events: fc.array(eventArbitrary, { minLength: 1, maxLength: 120, size: 'max' }),
});

const seed = process.env['MODEL_SEED'];
const parameters: fc.Parameters<[Schedule]> = {
  numRuns: Number(process.env['MODEL_RUNS'] ?? 3_000),
  interruptAfterTimeLimit: process.env['MODEL_RUNS'] === undefined ? 15_000 : 600_000,
  ...(seed === undefined ? {} : { seed: Number(seed) }),
};

test('any schedule of events keeps the books right and ends with nothing held', () => {
  fc.assert(
    fc.property(scheduleArbitrary, (schedule) => fly(schedule)),
    parameters,
  );
}, 700_000);

describe('the invariants can fail', () => {
  const lost =
    (kind: Effect['kind']): Tamper =>
    (effect) =>
      effect.kind === kind ? [] : [effect];
  const twice =
    (kind: Effect['kind']): Tamper =>
    (effect) =>
      effect.kind === kind ? [effect, effect] : [effect];

  test.for<[string, { tamper?: Tamper; sabotage?: Sabotage }]>([
    ['a wake is lost', { tamper: lost('wake') }],
    ['a promotion is lost', { tamper: lost('promote') }],
    ['a release is lost', { tamper: lost('release') }],
    ['a refusal is lost', { tamper: lost('refuse') }],
    ['a cut is lost', { tamper: lost('cut') }],
    ['a capture is not stopped', { tamper: lost('stopCapture') }],
    ['a call is not started', { tamper: lost('startCall') }],
    ['a call is not cancelled', { tamper: lost('cancelCall') }],
    ['a flight ends twice', { tamper: twice('flightEnded') }],
    ['an upstream call is counted twice', { tamper: twice('upstreamCalled') }],
    ['a slot is not given back', { sabotage: (board) => (board.admission.giveBack = () => undefined) }],
    ['a place in the queue is not given up', { sabotage: (board) => (board.admission.leaveQueue = () => undefined) }],
    ['a deadline is not removed', { sabotage: (board) => (board.deadlines.remove = () => undefined) }],
    ['a ticket can be used twice', { sabotage: (board) => (board.tickets.delete = () => true) }],
    ['a leader is never forgotten', { sabotage: (board) => (board.leaders.delete = () => true) }],
    ['a caller is never forgotten', { sabotage: (board) => (board.aboard.delete = () => true) }],
  ])('%s', ([, flaw]) => {
    const details = fc.check(
      fc.property(scheduleArbitrary, (schedule) => fly(schedule, flaw)),
      { ...parameters, numRuns: 500, endOnFailure: true, interruptAfterTimeLimit: 10_000 },
    );
    expect(details.failed && !details.interrupted).toBe(true);
    expect(details.errorInstance).toBeInstanceOf(Violation);
  });
});
