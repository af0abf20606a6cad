/**
 * The simulator: random schedules of events against the flight table, whose invariants are looked at after each event, on
 * all cores. Run: `npm run simulate -- [--schedules N] [--minutes M] [--seed S] [--first N]`; ends with 1 at a violation,
 * which it prints with the smallest schedule that shows it. Model and invariants are in test/support/flight-*.ts.
 */

import { availableParallelism } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { addTally, type Tally } from '../test/support/flight-tally.ts';
import type { Batch, Fault, Flown } from './simulate/batch.ts';
import { progressLine, report, type Progress } from './simulate/report.ts';

const DEFAULT_SCHEDULES = 100_000;
const BATCH = 500;
const PROGRESS_MS = 20_000;

interface Run {
  readonly seed: number;
  readonly first: number;
  readonly schedules: number;
  readonly limitMs: number;
}

const run = runOf(process.argv.slice(2));
if (run === null) {
  console.error('usage: simulate [--schedules N] [--minutes M] [--seed S] [--first N]');
  process.exitCode = 64;
} else process.exitCode = await simulate(run);

/** Null where the arguments make no sense. */
function runOf(args: string[]): Run | null {
  const option = { type: 'string' } as const;
  const options = { schedules: option, minutes: option, seed: option, first: option };
  const { values } = parseArgs({ args, options });
  const schedules = Number(values.schedules ?? (values.minutes === undefined ? DEFAULT_SCHEDULES : 2 ** 31));
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const first = Number(values.first ?? 0);
  const limitMs = values.minutes === undefined ? Infinity : Number(values.minutes) * 60_000;
  const isSound = schedules > 0 && [schedules, seed, first].every(Number.isInteger) && limitMs > 0;
  return isSound ? { seed, first, schedules, limitMs } : null;
}

/** The exit code. */
async function simulate({ seed, first, schedules, limitMs }: Run): Promise<number> {
  const startedAt = performance.now();
  const tally: Tally = new Map();
  const faults: Fault[] = [];
  let [flown, events, given, toldAt] = [0, 0, 0, startedAt];
  const progress = (): Progress => ({
    seed,
    schedules: flown,
    events,
    seconds: (performance.now() - startedAt) / 1_000,
    tally,
  });
  const next = (): Batch | null => {
    const count = Math.min(BATCH, schedules - given);
    if (count === 0 || faults.length > 0 || performance.now() - startedAt > limitMs) return null;
    given += count;
    return { seed, first: first + given - count, count };
  };
  const take = (result: Flown): void => {
    flown += result.schedules;
    events += result.events;
    addTally(tally, result.tally);
    if (result.fault !== null) faults.push(result.fault);
    if (performance.now() - toldAt < PROGRESS_MS) return;
    toldAt = performance.now();
    console.log(progressLine(progress()));
  };
  const threads = Array.from({ length: availableParallelism() }, () => work(next, take));
  await Promise.all(threads);
  console.log(report(progress(), faults));
  return faults.length === 0 ? 0 : 1;
}

/** One thread, until there is nothing more to do. */
async function work(next: () => Batch | null, take: (flown: Flown) => void): Promise<void> {
  const worker = new Worker(new URL('simulate/worker.js', import.meta.url));
  try {
    for (let batch = next(); batch !== null; batch = next()) take(await fly(worker, batch));
  } finally {
    await worker.terminate();
  }
}

function fly(worker: Worker, batch: Batch): Promise<Flown> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (flown: Flown) => {
      worker.off('error', reject);
      resolve(flown);
    });
    worker.postMessage(batch);
  });
}
