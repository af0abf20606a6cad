/**
 * The live drawing: a bar per prompt for its flight, with a mark per caller, redrawn in place while the callers wait. The
 * flight's phase is what the coalescer's `/flights` says; bars and marks are what the callers have received. It needs a
 * terminal; narration.ts serves the rest.
 */
import type { WriteStream } from 'node:tty';
import { setTimeout as delay } from 'node:timers/promises';
import { type Stack } from '../harness/stack.ts';
import { type Asked, roleOf, tokensOf } from './answers.ts';
import type { Prompt } from './prompts.ts';

const frameMs = 80;
const barWidth = 24;
const levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Draws until every caller's exchange is over, and leaves the last frame standing. */
export async function drawFlights(stack: Stack, asked: readonly Asked[], out: WriteStream): Promise<void> {
  let over = false;
  const done = Promise.all(asked.map(({ sent }) => sent.done)).then(() => (over = true));
  let drawn = 0;
  const draw = async (): Promise<void> => {
    const lines = frame(asked, await phases(stack), stack.mock.active());
    // A line that wraps would take two rows, and the next frame would begin one too low.
    const fitting = lines.map((line) => line.slice(0, Math.max(20, out.columns - 1)));
    // Back to the frame's first line, and clear from there on.
    out.write(`${drawn === 0 ? '' : `\u001b[${drawn}A\u001b[J`}${fitting.join('\n')}\n`);
    drawn = fitting.length;
  };
  while (!over) {
    await draw();
    await Promise.race([done, delay(frameMs)]);
  }
  await draw();
}

/** A heading, one line per prompt, and one about all. */
function frame(asked: readonly Asked[], phaseOf: ReadonlyMap<string, string>, upstream: number): string[] {
  const prompts = [...new Set(asked.map(({ prompt }) => prompt))];
  const lines = prompts.map((prompt) => {
    const own = asked.filter((one) => one.prompt === prompt);
    return flightLine(prompt, own, phaseOf.get(prompt.model));
  });
  const head = `${'prompt'.padEnd(24)}  ${'answer'.padEnd(barWidth)} ${'tokens'.padStart(6)} ${'flight'.padEnd(9)}  leader, followers`;
  const whole = asked.filter(({ sent }) => isOver(sent) && sent.soFar().ending === 'complete').length;
  return [head, ...lines, `${' '.repeat(24)}  upstream now: ${upstream}   callers served: ${whole} of ${asked.length}`];
}

function flightLine(prompt: Prompt, own: readonly Asked[], phase: string | undefined): string {
  const counts = own.map(({ sent }) => tokensOf(sent.soFar().body).length);
  const most = Math.max(...counts);
  const filled = Math.round((barWidth * most) / prompt.tokens);
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  const state = phase ?? (own.every(({ sent }) => isOver(sent)) ? 'landed' : 'arriving');
  const tokens = `${most}/${prompt.tokens}`.padStart(5);
  return `${prompt.text.padEnd(24)}  ${bar} ${tokens}  ${state.padEnd(9)}  ${marks(own)}`;
}

/** The leader's mark, then those of its followers; while nobody knows who leads, those of all. */
function marks(own: readonly Asked[]): string {
  const isLeader = ({ sent }: Asked): boolean => roleOf(sent.soFar()) === 'leader';
  const leaders = own.filter(isLeader).map(markOf);
  const followers = own.filter((one) => !isLeader(one)).map(markOf);
  return `${leaders.join('') || ' '} ${followers.join('')}`;
}

/** How much of its answer a caller has; `✓` all of it, `✗` cut, `↯` hung up. */
function markOf({ prompt, sent }: Asked): string {
  const { body, ending, status } = sent.soFar();
  if (isOver(sent)) return ending === 'left' ? '↯' : ending === 'complete' && status === 200 ? '✓' : '✗';
  if (body.length === 0) return '·';
  const share = tokensOf(body).length / prompt.tokens;
  return levels[Math.min(levels.length - 1, Math.floor(share * levels.length))] ?? '█';
}

function isOver(sent: Asked['sent']): boolean {
  return sent.soFar().endedAtMs !== undefined;
}

type FlightsPage = { readonly flights: ReadonlyArray<{ readonly model: string | null; readonly phase: string }> };

/** Phase of each flight, by its model. */
async function phases(stack: Stack): Promise<Map<string, string>> {
  const page = (await stack.processor.flights()) as FlightsPage;
  return new Map(page.flights.map(({ model, phase }) => [model ?? '', phase]));
}
