/**
 * `npm run chaos`: reads the command line, runs trial after trial until the time is over, and tells what they came to. It owns
 * the process: signals, output streams, exit code.
 */
import process from 'node:process';
import { help, type Options, readOptions } from './options.ts';
import { tableOf } from './table.ts';
import { type Outcome, runTrial } from './trial.ts';

/** Each trial begins with processes and records of its own, so that a long run holds no more than a short one. */
const longestTrialMs = 120_000;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // A second signal does not wait until all is tidied up.
  process.on(signal, () => (stop.signal.aborted ? process.exit(1) : stop.abort()));
}

process.exitCode = await main(readOptions(process.argv.slice(2), Math.floor(Math.random() * 1e6)));

async function main(options: Options): Promise<number> {
  switch (options.action) {
    case 'help':
      console.log(help.trimEnd());
      return 0;
    case 'refuse':
      console.error(`chaos: ${options.why}\n\n${help.trimEnd()}`);
      return 64;
    case 'run':
      return run(options);
  }
}

async function run({ minutes, seed, legs, redis }: Extract<Options, { action: 'run' }>): Promise<number> {
  console.log(`chaos: ${minutes} min, ${legs.join(' and ')}${redis ? ', --redis' : ''}, --seed ${seed}`);
  const rounds = Math.ceil((minutes * 60_000) / (legs.length * longestTrialMs));
  const lengthMs = (minutes * 60_000) / (legs.length * rounds);
  const outcomes: Outcome[] = [];
  for (let round = 0; round < rounds * legs.length && !stop.signal.aborted; round += 1) {
    const leg = legs[round % legs.length] ?? 'detached';
    const outcome = await runTrial({ leg, redis, seed: seed + round, lengthMs, signal: stop.signal });
    for (const offence of outcome.offences)
      console.error(`chaos, ${leg}, --seed ${seed}, trial ${round}: ${offence}\n`);
    outcomes.push(outcome);
  }
  console.log(tableOf(outcomes).join('\n'));
  const isGood = outcomes.every(isFlawless);
  console.log(isGood ? 'chaos: as it should be' : `chaos: NOT as it should be, --seed ${seed}`);
  return isGood && !stop.signal.aborted ? 0 : 1;
}

function isFlawless({ verdicts, remains }: Outcome): boolean {
  return verdicts.wrong + verdicts.hung + verdicts.failed + remains === 0;
}
