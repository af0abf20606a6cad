/**
 * Any schedule of events leaves the flight table's books right, every caller with the bytes of one flight and one ending,
 * and in the end nothing. `MODEL_SEED` and `MODEL_RUNS` repeat and lengthen a run; a failure prints its seed.
 */

import { readFileSync } from 'node:fs';
import process from 'node:process';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';

import type * as BoardModule from '../../src/coalesce/table/board.ts';
import type { Board } from '../../src/coalesce/table/board.ts';
import type { Effect } from '../../src/coalesce/table/effects.ts';
import {
  fly,
  scheduleArbitrary,
  watchTransitions,
  type Flaw,
  type Schedule,
  type Transitions,
} from '../support/flight-schedules.ts';
import { cellOf, NOTHING, tableUnder } from '../support/protocol-tables.ts';
import { Violation } from '../support/flight-world.ts';

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

function boardOf(): Board {
  const [board] = boards;
  if (board === undefined) throw new Error('no table was made');
  return board;
}

const seed = process.env['MODEL_SEED'];
const parameters: fc.Parameters<[Schedule]> = {
  numRuns: Number(process.env['MODEL_RUNS'] ?? 3_000),
  interruptAfterTimeLimit: process.env['MODEL_RUNS'] === undefined ? 15_000 : 600_000,
  ...(seed === undefined ? {} : { seed: Number(seed) }),
};

test('any schedule of events keeps the books right and ends with nothing held', () => {
  fc.assert(
    fc.property(scheduleArbitrary, (schedule) => fly(schedule, { boardOf })),
    parameters,
  );
}, 700_000);

test('a flight goes from phase to phase as docs/protocol.md says, and in no other way', () => {
  const seen: Transitions = new Map();
  const property = fc.property(scheduleArbitrary, (schedule) => {
    fly(schedule, { boardOf, watch: (world, board) => watchTransitions(seen, world, board) });
  });
  fc.assert(property, { numRuns: 6_000, seed: 1, endOnFailure: true });
  const columns = [...new Set([...seen.values()].flatMap((row) => [...row.keys()]))];
  const rows = [...seen].map(([from, row]): [string, Map<string, string>] => [
    from,
    new Map(columns.map((call) => [call, cellOf([...(row.get(call) ?? [])].filter((to) => to !== from)) || NOTHING])),
  ]);
  const told = tableUnder(readFileSync('docs/protocol.md', 'utf8'), 'flight');
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(rows));
}, 60_000);

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

describe('the invariants can fail', () => {
  const lost =
    (kind: Effect['kind']): NonNullable<Flaw['tamper']> =>
    (effect) =>
      effect.kind === kind ? [] : [effect];
  const twice =
    (kind: Effect['kind']): NonNullable<Flaw['tamper']> =>
    (effect) =>
      effect.kind === kind ? [effect, effect] : [effect];

  test.for<[string, Flaw]>([
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
    ['a deadline is not set', { sabotage: (board) => (board.deadlines.set = () => undefined) }],
    ['a ticket can be used twice', { sabotage: (board) => (board.tickets.delete = () => true) }],
    ['a kept answer is never forgotten', { sabotage: (board) => (board.negativeCache.forget = () => undefined) }],
    ['a kept answer is given to anybody', { sabotage: (board) => (board.negativeCache.find = anyEntry(board)) }],
    ['a leader is never forgotten', { sabotage: (board) => (board.leaders.delete = () => true) }],
    ['a caller is never forgotten', { sabotage: (board) => (board.aboard.delete = () => true) }],
  ])('%s', ([, flaw]) => {
    const details = fc.check(
      fc.property(scheduleArbitrary, (schedule) => fly(schedule, { boardOf, flaw })),
      { ...parameters, numRuns: 500, endOnFailure: true, interruptAfterTimeLimit: 10_000 },
    );
    expect(details.failed && !details.interrupted).toBe(true);
    expect(details.errorInstance).toBeInstanceOf(Violation);
  });
});
