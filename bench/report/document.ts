/**
 * The whole report in Markdown: machine, how to run it again, the targets, a section per load, and what the figures do not
 * say. Every figure in it comes from the runs.
 */
import type { Load, Runs } from '../loads/load.ts';
import { type TargetName, targetNames, targetTexts } from '../measure/targets.ts';
import type { Machine } from './machine.ts';
import { median } from './statistics.ts';
import { tableOf, tableOfLoad, tableOfTargets } from './tables.ts';
import type { Row } from './targets-met.ts';

export type Results = {
  readonly machine: Machine;
  readonly date: Date;
  readonly rounds: number;
  readonly isQuick: boolean;
  readonly client: 'Go' | 'Node';
  readonly seconds: number;
  readonly targets: readonly TargetName[];
  readonly loads: readonly Load[];
  readonly runs: Runs;
  readonly rows: readonly Row[];
};

/** The text of docs/benchmarks.md. */
export function documentOf(results: Results): string {
  const told = results.loads.filter(({ description }) => description !== '' && !results.isQuick);
  const listed = results.isQuick ? results.loads : told;
  return [
    opening(results),
    `## Targets\n\nA ratio is the median of the rounds’ ratios, each of two runs of one round.\n\n${tableOfTargets(results.rows)}`,
    charts(results),
    ...listed.filter(({ name }) => !name.startsWith('crowd ')).map((load) => sectionOf(load, results.runs)),
    notes(results),
  ].join('\n');
}

function opening({ machine, date, rounds, isQuick, client, seconds, targets, loads }: Results): string {
  const { cores, cpuModel, memoryGiB, platform, nodeVersion, envoyVersion } = machine;
  const clients =
    client === 'Go'
      ? 'Client, upstream and no-op processors are written in Go (bench/go).'
      : 'There was no Go toolchain: client and upstream run on Node, and the floor is the no-op on grpc-js. Loads that need Go were left out.';
  const wanted = new Set(loads.flatMap((load) => load.targets));
  const left = targetNames.filter((name) => wanted.has(name) && !targets.includes(name));
  return `# Benchmarks

Written by \`npm run bench\`; do not edit by hand.

- ${date.toISOString().slice(0, 10)}, ${platform}, ${cores} cores (${cpuModel}), ${memoryGiB.toFixed(1)} GiB of memory, Node ${nodeVersion}, Envoy ${envoyVersion} with two workers. It took ${Math.round(seconds)} s.
- ${rounds} ${rounds === 1 ? 'round' : 'rounds'}${isQuick ? ' of the short form' : ''}. Each round visits all targets with one load after the other, in an order that turns from round to round. A cell is the median over the rounds, with the range in parentheses.
- ${clients}${left.length === 0 ? '' : ` Not installed, and left out: ${left.join(', ')}.`}
- Everything shares the machine and talks over loopback: absolute figures are those of the whole set, so read the ratios.

Run it again with \`npm run bench\` (it rewrites this file, its charts and bench/ratios.json), \`npm run bench -- --quick\` (prints only), \`--rounds 9\`, \`--only unique,streams\`; \`npm run bench -- --codec\` measures the wire codec alone, \`npm run bench -- --fleet\` what Redis adds to a token. \`npm run bench:gate\` compares with bench/ratios.json. CPU times need Linux. Where the time goes is in [performance.md](performance.md).

${tableOf(
  ['target', 'what it is'],
  targets.map((name) => [name, targetTexts[name]]),
).replace('---:', '---')}
Of the shipped processor configuration only \`limits.max_waiters\` is raised, so that a whole burst may share a flight.
`;
}

function charts({ isQuick }: Results): string {
  if (isQuick) return '';
  return '## Charts\n\n![First byte against the number of callers](benchmarks/first-byte.svg)\n\n![Gain against the share of duplicates](benchmarks/gain.svg)\n';
}

function sectionOf(load: Load, runs: Runs): string {
  return `## ${load.title}\n\n${load.description}\n\n${tableOfLoad(load, runs.get(load.name) ?? new Map())}`;
}

/** Cores that programs outside the bench kept busy in the median run. */
export function medianOtherCores(runs: Runs): number {
  return median(otherCoresOf(runs));
}

function otherCoresOf(runs: Runs): number[] {
  return [...runs.values()].flatMap((byTarget) => [...byTarget.values()].flat()).map(({ otherCores }) => otherCores);
}

function notes({ runs }: Results): string {
  const others = otherCoresOf(runs);
  return `## What to keep in mind

- Programs outside the bench kept ${median(others).toFixed(2)} cores busy in the median run and ${Math.max(...others).toFixed(2)} in the worst.
- The no-ops make no key, keep no record and log nothing; the processor logs a line for each exchange and each flight. In the attached leg an exchange that leads takes one gRPC stream, as with “no-op attached”; in the detached leg it takes two, and its answer passes Envoy twice.
- “no-op immediate” answers from its own memory, without an upstream, a flight or other callers to wait for.
- Varnish keeps each answer for 10 s after its end, else late callers would miss it; it has no gRPC and no second process.
- A failure to share shows in “upstream calls”, an exchange that Envoy passed on because the processor was late in “failed open”.
- Tokens without delay are merged on their way by every program that reads slower than they come.
`;
}
