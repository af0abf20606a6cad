/**
 * `npm run bench`: puts loads on targets, interleaved round by round, prints the report and writes it to docs/benchmarks.md.
 * `npm run bench:gate` compares a short form with the ratios that are kept. It owns the options, the order of the runs and the
 * end; what is measured is in loads/.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';
import { currentVersion, versionFromEnvironment } from '../harness/envoy-binary.ts';
import { repositoryRoot } from '../harness/root.ts';
import { type KeySpeed, measureKeys } from './key.ts';
import type { Load, Runs } from './loads/load.ts';
import { loadsOf, memoryWarmUpLoads, warmUpLoads } from './loads/plan.ts';
import { type Rig, type Run, startRig } from './measure/run.ts';
import { type Target, type TargetName, targetNames } from './measure/targets.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { type CpuProfile, partsOf } from './profile/parts.ts';
import { firstByteChart, gainChart } from './report/charts/charts.ts';
import { documentOf, medianOtherCores } from './report/document.ts';
import { describeMachine } from './report/machine.ts';
import { gate, readRatios, writeRatios } from './report/ratios.ts';
import { summaryOf, tableOf } from './report/tables.ts';
import { type Row, rowsOf } from './report/targets-met.ts';
import { buildGoTools } from './traffic/go-tools.ts';

const startedAtMs = performance.now();
/** How long a profiled process and its compiled code take to settle, in ms. */
const PROFILE_FROM_MS = 4_000;
/** Cores that others may keep busy in the median run of a report that is kept. */
const QUIET_CORES = 0.5;
const ratiosPath = join(repositoryRoot, 'bench', 'ratios.json');

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.error(USAGE);
    return 64;
  }
  try {
    if (options.profile !== null) await printProfile(options.profile);
    else if (options.kind === 'codec') await import('./codec/codec.ts');
    else if (options.kind === 'gate') return await passGate(options);
    else if (options.kind === 'fleet') await import('./fleet.ts');
    else await bench(options);
    return 0;
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

async function printProfile(path: string): Promise<void> {
  const profile = JSON.parse(await readFile(path, 'utf8')) as CpuProfile;
  const rows = partsOf(profile, PROFILE_FROM_MS).map(([part, percent]) => [part, percent.toFixed(1)]);
  console.log(tableOf(['part', '% of busy time'], rows));
}

type Measured = {
  readonly client: Rig['client'];
  readonly targets: readonly TargetName[];
  readonly loads: readonly Load[];
  readonly runs: Runs;
  readonly keys: readonly KeySpeed[];
  readonly rows: readonly Row[];
};

async function bench(options: Options): Promise<void> {
  const measured = await measureAll(options);
  const report = await reportOf(options, measured);
  console.log(report);
  if (options.form === 'whole' && options.only === null) await saveIfQuiet(report, measured);
  progress('done');
}

/** 0: no ratio is much worse than the kept one. */
async function passGate(options: Options): Promise<number> {
  const kept = readRatios(await keptRatios());
  const { rows } = await measureAll(options);
  const complaints = gate(
    kept,
    rows.map(({ ratio }) => ratio).filter((ratio) => ratio !== null),
  );
  for (const complaint of complaints) console.error(complaint);
  console.log(
    complaints.length === 0
      ? `all ${kept.length} ratios hold`
      : `${complaints.length} of ${kept.length} ratios do not hold`,
  );
  return complaints.length === 0 ? 0 : 1;
}

function keptRatios(): Promise<string> {
  return readFile(ratiosPath, 'utf8').catch(() => {
    throw new Error(`${ratiosPath} is missing: \`npm run bench\` on a quiet machine writes it`);
  });
}

async function measureAll(options: Options): Promise<Measured> {
  const tools = await buildGoTools();
  if (tools === null)
    progress('no Go toolchain on the PATH: client and upstream on Node, the no-op on grpc-js; some loads are left out');
  const keys = measureKeys();
  const loads = loadsOf(options.form).filter(
    ({ name, needsGo }) =>
      (tools !== null || needsGo !== true) &&
      (options.only === null || options.only.some((start) => name.startsWith(start))),
  );
  const wanted = targetNames.filter((name) => loads.some(({ targets }) => targets.includes(name)));
  let close = (): Promise<void> => Promise.resolve();
  // What is still starting is killed as this process exits.
  const onSignal = (): void => void close().finally(() => process.exit(130));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const rig = await startRig({ tools, targets: wanted, maxWaiters: 8_000, told: progress });
  close = () => rig.close();
  try {
    await warmUp(rig, rig.targets);
    const runs = await measure(rig, loads, options.rounds);
    const targets = rig.targets.map(({ name }) => name);
    return { client: rig.client, targets, loads, runs, keys, rows: rowsOf(runs, worstKeys(keys)) };
  } finally {
    await rig.close();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

/** Of each size the kind of body that fares worst. */
function worstKeys(keys: readonly KeySpeed[]): Array<Pick<KeySpeed, 'size' | 'ratio'>> {
  const sizes = [...new Set(keys.map(({ size }) => size))];
  return sizes.map((size) => ({
    size,
    ratio: Math.min(...keys.filter((key) => key.size === size).map(({ ratio }) => ratio)),
  }));
}

async function warmUp(rig: Rig, targets: readonly Target[]): Promise<void> {
  for (const load of warmUpLoads.filter(({ needsGo }) => needsGo !== true || rig.client === 'Go')) {
    const visited = targets.filter(({ name }) => load.targets.includes(name));
    for (const target of visited) await carryOut(rig, { load, target, label: 'warm-up' });
  }
}

/**
 * The order of the targets turns with each round, so that none is always first. Loads that meet a processor of their own leave
 * one behind that is not warm: they come last, and the next round begins with a warm-up.
 */
async function measure(rig: Rig, loads: readonly Load[], rounds: number): Promise<Runs> {
  const runs = new Map(loads.map(({ name }) => [name, new Map<TargetName, Run[]>()]));
  const inTurn = loads.toSorted((one, other) => Number(one.start !== undefined) - Number(other.start !== undefined));
  for (let round = 0; round < rounds; round += 1) {
    const turn = round % rig.targets.length;
    const order = [...rig.targets.slice(turn), ...rig.targets.slice(0, turn)];
    if (round > 0)
      await warmUp(
        rig,
        order.filter(({ name }) => restarted(loads).has(name)),
      );
    for (const load of inTurn.filter(({ times = rounds }) => round < times)) {
      for (const target of order.filter(({ name }) => load.targets.includes(name))) {
        await start(rig, load, target);
        const run = await carryOut(rig, { load, target, label: `round ${round + 1} of ${rounds}` });
        const byTarget = runs.get(load.name);
        byTarget?.set(target.name, [...(byTarget.get(target.name) ?? []), run]);
      }
    }
  }
  return runs;
}

function restarted(loads: readonly Load[]): ReadonlySet<TargetName> {
  return new Set(loads.flatMap(({ start, targets }) => (start === undefined ? [] : targets)));
}

async function start(rig: Rig, { start }: Load, target: Target): Promise<void> {
  if (start === undefined) return;
  await target.restart();
  if (start === 'cold') return;
  for (const load of memoryWarmUpLoads) await carryOut(rig, { load, target, label: 'warm-up' });
}

async function carryOut(rig: Rig, what: { load: Load; target: Target; label: string }): Promise<Run> {
  const { load, target, label } = what;
  const order = load.order(target.url, `${label}, ${load.name}, ${target.name}`);
  const run = await rig.run(target, order);
  progress(`${label}  ${load.name.padEnd(18)}  ${target.name.padEnd(16)}  ${summaryOf(load, run)}`);
  return run;
}

async function reportOf({ form, rounds }: Options, measured: Measured): Promise<string> {
  const machine = describeMachine(versionFromEnvironment() ?? currentVersion);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const text = documentOf({ ...measured, machine, date: new Date(), rounds, isQuick: form === 'quick', seconds });
  const style = await resolveConfig(join(repositoryRoot, 'package.json'));
  return format(`${text}\n${keySection(measured.keys)}`, { ...style, parser: 'markdown' });
}

function keySection(keys: readonly KeySpeed[]): string {
  const rows = keys.map(({ size, kind, ratio, mbPerSecond }) => [
    `${size}, ${kind}`,
    ratio.toFixed(2),
    mbPerSecond.toFixed(0),
  ]);
  return `## The key of a body\n\nReading, canonical form and digest against \`JSON.parse\`, \`JSON.stringify\` and SHA-256; CPU time, best of interleaved rounds in one process.\n\n${tableOf(['body', 'their time ÷ ours', 'MB/s'], rows)}`;
}

async function saveIfQuiet(report: string, measured: Measured): Promise<void> {
  const others = medianOtherCores(measured.runs);
  if (measured.client === 'Node') return progress('without Go there is no floor to keep: nothing is written');
  if (others <= QUIET_CORES) return save(report, measured);
  progress(`other programs kept ${others.toFixed(2)} cores busy: nothing is written; run it again on a quiet machine`);
}

async function save(report: string, { runs, rows }: Measured): Promise<void> {
  const docs = join(repositoryRoot, 'docs');
  await mkdir(join(docs, 'benchmarks'), { recursive: true });
  await writeFile(join(docs, 'benchmarks.md'), report);
  await writeFile(join(docs, 'benchmarks', 'first-byte.svg'), firstByteChart(runs));
  await writeFile(join(docs, 'benchmarks', 'gain.svg'), gainChart(runs));
  await writeFile(ratiosPath, writeRatios(rows.map(({ ratio }) => ratio).filter((ratio) => ratio !== null)));
  progress(`written to ${docs} and ${ratiosPath}`);
}

/** On stderr, so that stdout holds the report alone. */
function progress(line: string): void {
  const seconds = (performance.now() - startedAtMs) / 1000;
  console.error(`${seconds.toFixed(0).padStart(4)} s  ${line}`);
}
