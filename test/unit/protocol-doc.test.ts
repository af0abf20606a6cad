/** docs/protocol.md says what the machine does, cell by cell. The flights' table is checked in test/model. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { eventSamples, phaseSamples } from '../support/exchange-samples.ts';
import { exchangeTable, tableUnder } from '../support/protocol-tables.ts';

const told = tableUnder(readFileSync('docs/protocol.md', 'utf8'), 'phase');
const done = exchangeTable();

test('the document has a row for each phase and a column for each event, and no other', () => {
  expect([...told.keys()].toSorted()).toEqual(Object.keys(phaseSamples).toSorted());
  for (const cells of told.values()) expect([...cells.keys()].toSorted()).toEqual(Object.keys(eventSamples).toSorted());
});

describe.for([...done])('%s', ([phase, cells]) => {
  test.for([...cells])('by %s', ([event, cell]) => {
    expect(told.get(phase)?.get(event)).toBe(cell);
  });
});
