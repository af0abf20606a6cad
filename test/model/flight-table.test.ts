/**
 * Any schedule of events leaves the flight table's books right, every caller with the bytes of one flight and one ending,
 * and in the end nothing. `MODEL_SEED` and `MODEL_RUNS` repeat and lengthen a run; a failure prints its seed. The same at
 * length is `npm run simulate`; that each invariant can fail is in `flight-table-mutants.test.ts`.
 */

import { readFileSync } from 'node:fs';
import process from 'node:process';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { scheduleOf } from '../../harness/simulate/batch.ts';
import { fly } from '../support/flight-flying.ts';
import { scheduleArbitrary, type Schedule } from '../support/flight-schedules.ts';
import { watchTransitions, type Transitions } from '../support/flight-transitions.ts';
import { cellOf, NOTHING, tableUnder } from '../support/protocol-tables.ts';

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

test('a flight goes from phase to phase as docs/protocol.md says, and in no other way', () => {
  const seen: Transitions = new Map();
  for (let number = 0; number < 20_000; number += 1) {
    fly(scheduleOf(1, number), { watch: (world) => watchTransitions(seen, world) });
  }
  const columns = [...new Set([...seen.values()].flatMap((row) => [...row.keys()]))];
  const rows = [...seen].map(([from, row]): [string, Map<string, string>] => [
    from,
    new Map(columns.map((call) => [call, cellOf([...(row.get(call) ?? [])].filter((to) => to !== from)) || NOTHING])),
  ]);
  const told = tableUnder(readFileSync('docs/protocol.md', 'utf8'), 'flight');
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(rows));
}, 120_000);
