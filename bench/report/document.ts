/**
 * The whole report in Markdown: machine, how to run it again, a section per load, and what the figures do not say. Every
 * figure in it comes from the runs.
 */
import type { Load } from '../measure/plan.ts';
import type { Run } from '../measure/run.ts';
import { type TargetName, targetNames } from '../measure/targets.ts';
import type { Machine } from './machine.ts';
import { median } from './statistics.ts';
import { type RunsByTarget, tablesOf } from './tables.ts';

export type Results = {
  readonly machine: Machine;
  readonly date: Date;
  readonly rounds: number;
  readonly isQuick: boolean;
  readonly loads: readonly Load[];
  /** In the order of `loads`. */
  readonly runs: readonly RunsByTarget[];
  /** Exchanges that Envoy passed on without an answer of the processor, in all runs. */
  readonly failedOpen: ReadonlyMap<TargetName, number>;
};

/** The text of docs/benchmarks.md. */
export function documentOf(results: Results): string {
  const sections = results.loads.map((load, index) => sectionOf(load, results.runs[index] ?? new Map()));
  return [opening(results), ...sections, notes(results)].join('\n');
}

function opening({ machine, date, rounds, isQuick }: Results): string {
  const { cores, cpuModel, memoryGiB, platform, nodeVersion, envoyVersion } = machine;
  return `# Benchmarks

Written by \`npm run bench\`; do not edit by hand.

- ${date.toISOString().slice(0, 10)}, ${platform}, ${cores} cores (${cpuModel}), ${memoryGiB.toFixed(1)} GiB of memory, Node ${nodeVersion}, Envoy ${envoyVersion} with two workers.
- ${rounds} ${rounds === 1 ? 'round' : 'rounds'}${isQuick ? ' of the short form' : ''}. Each round visits all targets with one load after the other, in an order that turns from round to round. A cell is the median over the rounds, with the range in parentheses.
- Client, upstream, Envoy and processor share the machine and talk over loopback: absolute figures are those of the whole set, so read the ratios.

Run it again with \`npm run bench\` (it rewrites this file), \`npm run bench -- --quick\` (under three minutes, prints only) or \`npm run bench -- --rounds 9\`; \`npm run bench -- --codec\` measures the wire codec alone, \`npm run bench -- --fleet\` what Redis adds to a token. CPU times need Linux.

| target | what it is |
|---|---|
| Envoy alone | the shipped configuration without our two filters |
| no-op ext_proc | the shipped decide filter before a processor on grpc-js that says CONTINUE to everything, in the modes of an attached leader: request body buffered, response head, body (streamed) and trailers sent. The floor for any external processor in Node that sees both bodies |
| ours attached | \`envoy.attached.yaml\` with \`coalescer.attached.yaml\` |
| ours detached | \`envoy.yaml\` with \`coalescer.yaml\` |

Of the shipped processor configuration only \`limits.max_waiters\` is raised, so that the whole burst may share a flight.
`;
}

function sectionOf(load: Load, runs: RunsByTarget): string {
  return `## ${load.title}\n\n${load.description}\n\n${tablesOf(load, runs)}`;
}

function notes({ runs, failedOpen, loads }: Results): string {
  const others = runs.flatMap((byTarget) => [...byTarget.values()].flat()).map(({ otherCores }) => otherCores);
  const open = targetNames
    .filter((name) => name !== 'Envoy alone')
    .map((name) => `${name} ${failedOpen.get(name) ?? 0}`);
  const gaps = runs[loads.findIndex(({ name }) => name === 'gaps')];
  return `## What to keep in mind

- Programs outside the bench kept ${median(others).toFixed(2)} cores busy in the median run and ${Math.max(...others).toFixed(2)} in the worst.
- Exchanges that failed open (the processor late or absent), warm-up included: ${open.join(', ')}. A burst that fails open calls the upstream once for each such caller, which its first line shows.
- Prompts in the second and third load are all different, so there is nothing to share: they show what the filters cost, not what they save.
- The no-op decodes no message, makes no key, keeps no record and logs nothing; the processor logs a line for each exchange. In the attached leg an exchange that leads takes one gRPC stream, as with the no-op; in the detached leg it takes two, and its answer passes Envoy twice.
- Tokens without delay are merged on their way by every program that reads slower than they come: so more tokens/s than with Envoy alone mean fewer, larger reads at the client, not a shorter way. CPU per token is that of merged tokens.
- First bytes of a burst count from the moment when the client decides to connect, a thousand new connections included.
- Gaps are between two reads of a caller, both ends of the loopback on this machine; the later callers' first read, which brings the past, is where their gaps begin. Of the targets that share nothing, the later callers have streams of their own. ${gapVerdict(gaps)}
`;
}

/** The most that followers of the shared flight lag behind its leader, as measured. */
function gapVerdict(runs: RunsByTarget | undefined): string {
  const legs = (['ours attached', 'ours detached'] as const).map((name) => {
    const difference = median((runs?.get(name) ?? []).map(gapDifference));
    return `${name} ${difference.toFixed(1)} ms (${difference <= ALLOWED_GAP_MS ? 'within' : 'OVER'} the ${ALLOWED_GAP_MS} ms that are allowed)`;
  });
  return `A follower's p99 minus its leader's: ${legs.join(', ')}.`;
}

const ALLOWED_GAP_MS = 10;

function gapDifference({ outcome }: Run): number {
  return (outcome.laterCallersGapP99Ms ?? Number.NaN) - (outcome.firstCallerGapP99Ms ?? Number.NaN);
}
