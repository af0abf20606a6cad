/** What the simulator prints. */

import type { Tally } from '../../test/support/flight-tally.ts';
import type { Fault } from './batch.ts';

export interface Progress {
  readonly seed: number;
  readonly schedules: number;
  readonly events: number;
  readonly seconds: number;
  readonly tally: Tally;
}

export function progressLine({ schedules, seconds }: Progress): string {
  return `simulate: ${grouped(schedules)} schedules, ${grouped(Math.round(schedules / seconds))} a second`;
}

/** What was reached, the same things under one another, then the last line. */
export function report(progress: Progress, faults: readonly Fault[]): string {
  const { tally, schedules, events, seconds } = progress;
  const width = Math.max(0, ...[...tally.keys()].map(({ length }) => length));
  const lines = [...tally].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [
    ...lines.map(([what, times]) => `  ${what.padEnd(width)}  ${grouped(times).padStart(13)}`),
    ...faults.map((fault) => faultText(progress.seed, fault)),
    `simulate: ${grouped(schedules)} schedules (${grouped(events)} events, seed ${progress.seed}) in ` +
      `${seconds.toFixed(0)} s, ${grouped(Math.round(schedules / seconds))} a second, ${faults.length} violations`,
  ].join('\n');
}

function faultText(seed: number, fault: Fault): string {
  return [
    `violation in schedule ${fault.number}: ${fault.message}`,
    `  again: npm run simulate -- --seed ${seed} --first ${fault.number} --schedules 1`,
    `  minimal (${fault.minimalMessage}): ${fault.minimal}`,
  ].join('\n');
}

function grouped(number: number): string {
  return number.toLocaleString('en-US');
}
