/** The operators' page has a row for each way in which a flight ends and for each reason. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { flightEndings } from '../../src/coalesce/flight/endings.ts';
import { bypassReasons, shedReasons } from '../../src/coalesce/request/outcomes.ts';

const rows = readFileSync('docs/failure-modes.md', 'utf8').split('\n');

test.for([...flightEndings, ...bypassReasons, ...shedReasons])('docs/failure-modes.md has one row for %s', (word) => {
  expect(rows.filter((row) => new RegExp(`^\\| \`${word}\` +\\|`).test(row))).toHaveLength(1);
});
