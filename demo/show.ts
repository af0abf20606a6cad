/**
 * The show: starts the stack, plays both scenes, prints the table and the figures. The command line and signals are
 * main.ts's.
 */
import type { WriteStream } from 'node:tty';
import { findEnvoy } from '../harness/envoy-binary.ts';
import { begin } from '../harness/http-client.ts';
import { type Leg, type Stack, startStack } from '../harness/stack.ts';
import { answered, type Asked } from './answers.ts';
import { type BurstFigures, countBurst, differences, expectedBurst } from './figures.ts';
import { expectedHangUp, hangUp } from './hang-up.ts';
import { Narration } from './narration.ts';
import { prompts, requestFor, scriptFor } from './prompts.ts';
import { drawFlights } from './screen.ts';
import { burstTable } from './table.ts';

export type Stage = {
  readonly leg: Leg;
  readonly print: (line: string) => void;
  /** Where to draw; undefined: nowhere, and what happens is printed line by line. */
  readonly terminal: WriteStream | undefined;
  /** Told of what takes long before the show begins. */
  readonly progress: (line: string) => void;
};

/** A stack that can be shown, and how its upstream calls are told of. */
export type Theatre = { readonly stack: Stack; readonly narration: Narration };

const callersPerPrompt = 5;
const maxUpstream = 2;

/** Finds Envoy, downloading it if need be, and starts everything. */
export async function openTheatre({ leg, print, terminal, progress }: Stage): Promise<Theatre> {
  await telling(findEnvoy(), () => progress('Getting Envoy (a download, once) …'));
  const narration = new Narration(print);
  const stack = await startStack({
    leg,
    config: { admission: { max_upstream: maxUpstream } },
    mock: { respond: scriptFor, onCall: (call) => terminal === undefined && narration.callBegan(call) },
  });
  return { stack, narration };
}

/** Plays both scenes and prints what came of them, the JSON last. Returns a sentence for each figure not as expected. */
export async function play({ stack, narration }: Theatre, { leg, print, terminal }: Stage): Promise<string[]> {
  const watch = (asked: readonly Asked[]): Promise<void> =>
    terminal === undefined ? narration.follow(asked) : drawFlights(stack, asked, terminal);
  const count = prompts.length * callersPerPrompt;
  print(
    `${count} callers ask ${prompts.length} prompts at once; ${maxUpstream} upstream calls at a time (${leg} leg)\n`,
  );
  const figures = await playBurst({ stack, watch, print });
  print(`\nThen 5 callers share one answer, and the first of them hangs up ${moments[leg]}\n`);
  const hangup = await hangUp(stack, leg, watch);
  const { callers, left, whole, upstream_calls: calls } = hangup;
  print(
    `\n${left} of ${callers} left, ${whole} have the whole answer, ${calls} upstream call${calls === 1 ? '' : 's'}\n`,
  );
  print(JSON.stringify({ ...figures, leg, hangup }));
  const ofHangUp = differences(hangup, expectedHangUp(leg)).map((line) => `hangup.${line}`);
  return [...differences(figures, expectedBurst(figures)), ...ofHangUp];
}

/** When the first caller leaves, and what becomes of its call. */
const moments: Readonly<Record<Leg, string>> = {
  detached: 'in mid-stream: the call goes on for the others',
  attached: 'before the first token: its call ends with it, and one of the others is promoted',
};

async function playBurst(show: {
  stack: Stack;
  watch: (asked: readonly Asked[]) => Promise<void>;
  print: (line: string) => void;
}): Promise<BurstFigures> {
  const { stack, watch, print } = show;
  const callsBefore = stack.mock.callCount();
  // In turn, as strangers would come: not all callers of one prompt and then all of the next.
  const asked = Array.from({ length: callersPerPrompt }, () => prompts)
    .flat()
    .map((prompt) => ({ prompt, sent: begin({ url: stack.ingress.url, ...requestFor(prompt) }) }));
  await watch(asked);
  const answers = await answered(asked);
  const calls = stack.mock.calls.slice(callsBefore);
  await Promise.all(calls.map(({ ended }) => ended));
  print(['', ...burstTable(answers)].join('\n'));
  return countBurst(answers, calls, maxUpstream);
}

/** Speaks where the work takes longer than a moment. */
async function telling<T>(work: Promise<T>, speak: () => void): Promise<T> {
  const timer = setTimeout(speak, 1_000);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
