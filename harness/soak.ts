/**
 * The soak: many exchanges of every kind through a real Envoy, and after each tenth of them a look at what the processor still
 * holds. Run: `npm run soak -- [--exchanges N] [--leg attached|detached]`; N of them in each leg (10,000 unless given). Ends
 * with 1 where the process grew, with the figures of each round on stdout.
 */
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { inspectHeap } from './soak/inspected-heap.ts';
import { exchangeMany, upstream } from './soak/load.ts';
import { judgeGrowth, type Sample } from './soak/verdict.ts';
import { expectQuiet, type Leg, type Stack, startStack } from './stack.ts';
import { freePort } from './stack/processor-process.ts';

const ROUNDS = 10;
const MiB = 1024 * 1024;

type Run = { readonly exchanges: number; readonly legs: readonly Leg[] };

const run = runOf(process.argv.slice(2));
if (run === null) {
  console.error('usage: soak [--exchanges N] [--leg attached|detached]');
  process.exitCode = 64;
} else {
  let grew = false;
  for (const leg of run.legs) grew = (await soak(leg, run.exchanges)) || grew;
  console.log(grew ? 'soak: it grew' : 'soak: as it should be');
  process.exitCode = grew ? 1 : 0;
}

/** Null where the arguments make no sense. */
function runOf(args: string[]): Run | null {
  const { values } = parseArgs({ args, options: { exchanges: { type: 'string' }, leg: { type: 'string' } } });
  const exchanges = Number(values.exchanges ?? 10_000);
  const { leg } = values;
  const isSound = Number.isInteger(exchanges) && exchanges >= 1_000;
  if (!isSound || (leg !== undefined && leg !== 'attached' && leg !== 'detached')) return null;
  return { exchanges, legs: leg === undefined ? ['attached', 'detached'] : [leg] };
}

/** Whether the process grew. */
async function soak(leg: Leg, exchanges: number): Promise<boolean> {
  const { stack, port } = await inspectableStack(leg);
  try {
    const startedAt = performance.now();
    const heap = await inspectHeap(stack.processor.pid, port);
    const samples: Sample[] = [];
    // The first one warms up: nothing is compiled yet, and every metric has still to be seen once.
    for (let round = 0; round <= ROUNDS; round += 1) {
      const count = Math.ceil(exchanges / ROUNDS);
      await exchangeMany(stack.ingress.url, { first: round * count, count });
      const sample = { ...(await look(stack, heap.liveBytes)), exchanges: (round + 1) * count };
      if (round > 0) samples.push(sample);
      console.log(lineOf(leg, sample));
      stack.mock.calls.length = 0;
    }
    heap.close();
    await expectEveryKind(stack);
    const { liveGrowth, rssGrowth, liveBytesPerExchange, grew } = judgeGrowth(samples);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const total = samples.at(-1)?.exchanges ?? 0;
    const live = `live heap ${mib(liveGrowth)} MiB (${liveBytesPerExchange.toFixed(1)} bytes an exchange)`;
    console.log(
      `${leg}: ${total} exchanges in ${seconds} s: ${live}, RSS ${mib(rssGrowth)} MiB${grew ? ': GREW' : ''}`,
    );
    return grew;
  } finally {
    await stack.close();
  }
}

async function inspectableStack(leg: Leg): Promise<{ stack: Stack; port: number }> {
  const port = await freePort();
  // Who leaves between the two filters leaves a ticket behind, for as long as that is good.
  const config = { limits: { ticket_ttl: '1s' } };
  const nodeOptions = [`--inspect-port=127.0.0.1:${port}`];
  return { stack: await startStack({ leg, mock: upstream, config, nodeOptions }), port };
}

async function look(stack: Stack, liveBytes: () => Promise<number>): Promise<Omit<Sample, 'exchanges'>> {
  await expectQuiet(stack);
  const live = await liveBytes();
  const status = await readFile(`/proc/${stack.processor.pid}/status`, 'utf8');
  return { liveBytes: live, rssBytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024 };
}

/** A load that did not come to all of this proves little. */
async function expectEveryKind(stack: Stack): Promise<void> {
  const metrics = await stack.processor.metrics();
  const missing = [
    ...['leader', 'follower', 'bypass'].map((outcome) => `coalesce_requests_total{outcome="${outcome}"}`),
    ...['landed', 'failed_status'].map((ending) => `coalesce_flight_endings_total{ending="${ending}"}`),
    'coalesce_cancellations_total{role="follower"}',
  ].filter((name) => !((metrics.get(name) ?? 0) > 0));
  if (missing.length > 0) throw new Error(`the load did not come to ${missing.join(', ')}`);
}

function lineOf(leg: Leg, { exchanges, liveBytes, rssBytes }: Sample): string {
  return `${leg}: after ${String(exchanges).padStart(7)} exchanges ${mib(liveBytes)} MiB live, ${mib(rssBytes)} MiB RSS`;
}

function mib(bytes: number): string {
  return (bytes / MiB).toFixed(2);
}
