/**
 * `npm run bench`: puts four loads on four targets, interleaved round by round, prints the report and writes it to
 * docs/benchmarks.md. It owns the options, the order of the runs and the end; what is measured is in measure/plan.ts.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { repositoryRoot } from '../harness/root.ts';
import { fullSizes, type Load, loadsOf, quickSizes, warmUpSizes } from './measure/plan.ts';
import { type Rig, type Run, startRig } from './measure/run.ts';
import type { Target, TargetName } from './measure/targets.ts';
import { documentOf } from './report/document.ts';
import { describeMachine } from './report/machine.ts';
import { type RunsByTarget, summaryOf } from './report/tables.ts';

const USAGE = `usage: npm run bench -- [--quick] [--rounds N] [--codec] [--fleet]
  --quick     a short form of one round that prints only
  --rounds N  rounds, 1 to 20 (5 unless given, 1 with --quick)
  --codec     only the wire codec, in this process
  --fleet     only what another instance's follower waits longer, through Redis`;

const startedAtMs = performance.now();

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) {
    console.error(USAGE);
    return 64;
  }
  if (options.isCodec) {
    await import('./codec.ts');
    return 0;
  }
  try {
    if (options.isFleet) await import('./fleet.ts');
    else await bench(options);
    return 0;
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

type Options = {
  readonly isQuick: boolean;
  readonly isCodec: boolean;
  readonly isFleet: boolean;
  readonly rounds: number;
};

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean' },
        codec: { type: 'boolean' },
        fleet: { type: 'boolean' },
        rounds: { type: 'string' },
      },
    });
    const isQuick = values.quick === true;
    const rounds = Number(values.rounds ?? (isQuick ? 1 : 5));
    if (!Number.isInteger(rounds) || rounds < 1 || rounds > 20) return undefined;
    return { isQuick, isCodec: values.codec === true, isFleet: values.fleet === true, rounds };
  } catch {
    // An option that is not known: the caller gets the usage.
    return undefined;
  }
}

async function bench(options: Options): Promise<void> {
  const sizes = options.isQuick ? quickSizes : fullSizes;
  let close = (): Promise<void> => Promise.resolve();
  // What is still starting is killed as this process exits.
  const onSignal = (): void => void close().finally(() => process.exit(130));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const rig = await startRig({ maxWaiters: 2 * sizes.callers, told: progress });
  close = () => rig.close();
  try {
    for (const load of loadsOf(warmUpSizes)) {
      for (const target of rig.targets) await tell(rig, { load, target, label: 'warm-up' });
    }
    const loads = loadsOf(sizes);
    const runs = await measure(rig, loads, options.rounds);
    const report = await reportOf(rig, { ...options, loads, runs });
    console.log(report);
    if (!options.isQuick) await save(report);
  } finally {
    await rig.close();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
  progress('done');
}

/** The runs of each load by target. The order of the targets turns with each round, so that none is always first. */
async function measure(rig: Rig, loads: readonly Load[], rounds: number): Promise<RunsByTarget[]> {
  const runs = loads.map(() => new Map<TargetName, Run[]>(rig.targets.map(({ name }) => [name, []])));
  for (let round = 0; round < rounds; round += 1) {
    const turn = round % rig.targets.length;
    const order = [...rig.targets.slice(turn), ...rig.targets.slice(0, turn)];
    for (const [index, load] of loads.entries()) {
      for (const target of order) {
        const run = await tell(rig, { load, target, label: `round ${round + 1} of ${rounds}` });
        runs[index]?.get(target.name)?.push(run);
      }
    }
  }
  return runs;
}

async function tell(rig: Rig, what: { load: Load; target: Target; label: string }): Promise<Run> {
  const { load, target, label } = what;
  const run = await rig.run(target, load.order(target.url, `${label}, ${load.name}, ${target.name}`));
  progress(`${label}  ${load.name.padEnd(8)}  ${target.name.padEnd(14)}  ${summaryOf(load, run)}`);
  return run;
}

async function reportOf(
  rig: Rig,
  measured: Options & { loads: readonly Load[]; runs: readonly RunsByTarget[] },
): Promise<string> {
  const failedOpen = new Map<TargetName, number>();
  for (const target of rig.targets) failedOpen.set(target.name, await target.failedOpen());
  const machine = describeMachine((await rig.targets[0]?.envoyVersion()) ?? 'unknown');
  const text = documentOf({ ...measured, machine, date: new Date(), failedOpen });
  const style = await resolveConfig(join(repositoryRoot, 'package.json'));
  return format(text, { ...style, parser: 'markdown' });
}

async function save(report: string): Promise<void> {
  const path = join(repositoryRoot, 'docs', 'benchmarks.md');
  await writeFile(path, report);
  progress(`written to ${path}`);
}

/** On stderr, so that stdout holds the report alone. */
function progress(line: string): void {
  const seconds = (performance.now() - startedAtMs) / 1000;
  console.error(`${seconds.toFixed(0).padStart(4)} s  ${line}`);
}
