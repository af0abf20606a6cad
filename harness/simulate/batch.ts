/** Schedules by number: each is drawn from the seed and its number alone, so that any of them can be flown again. */

import fc from 'fast-check';

import { fly } from '../../test/support/flight-flying.ts';
import { drawSchedule, scheduleArbitrary, type Schedule } from '../../test/support/flight-schedules.ts';
import type { Tally } from '../../test/support/flight-tally.ts';
import { randomFrom } from '../fuzz/mutate.ts';

export interface Batch {
  readonly seed: number;
  readonly first: number;
  readonly count: number;
}

export interface Fault {
  /** Of the schedule that failed first. */
  readonly number: number;
  readonly message: string;
  /** The smallest schedule found that fails too, as JSON, and what it fails of. */
  readonly minimal: string;
  readonly minimalMessage: string;
}

export interface Flown {
  readonly schedules: number;
  readonly events: number;
  readonly tally: Tally;
  readonly fault: Fault | null;
}

const SHRINK_LIMIT_MS = 60_000;

/** Flies a batch up to its first fault. */
export function flyBatch({ seed, first, count }: Batch): Flown {
  const tally: Tally = new Map();
  let events = 0;
  for (let number = first; number < first + count; number += 1) {
    const schedule = scheduleOf(seed, number);
    events += schedule.events.length;
    try {
      fly(schedule, { tally });
    } catch (error) {
      return { schedules: number - first + 1, events, tally, fault: { number, ...shrink(schedule, error) } };
    }
  }
  return { schedules: count, events, tally, fault: null };
}

/** Numbers of one seed all begin at other places of the same sequence. */
export function scheduleOf(seed: number, number: number): Schedule {
  return drawSchedule(randomFrom((seed + Math.imul(number, 0x9e3779b1)) | 0));
}

function shrink(schedule: Schedule, error: unknown): Omit<Fault, 'number'> {
  const details = fc.check(
    fc.property(scheduleArbitrary, (smaller) => fly(smaller)),
    { examples: [[schedule]], numRuns: 1, interruptAfterTimeLimit: SHRINK_LIMIT_MS },
  );
  return {
    message: String(error),
    minimal: JSON.stringify(details.counterexample?.[0] ?? schedule),
    minimalMessage: String(details.errorInstance ?? error),
  };
}
