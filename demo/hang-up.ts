/**
 * The second scene: five callers share a flight and the first of them hangs up. Detached, it leaves in mid-stream and the
 * upstream call goes on. Attached, the call is the first caller's own and ends with it, so it leaves before the first
 * token and one of the others is promoted.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { begin, burst } from '../harness/http-client.ts';
import type { Leg, Stack } from '../harness/stack.ts';
import { answered, type Asked, isWhole, tokensOf } from './answers.ts';
import { hangUpPrompt, requestFor } from './prompts.ts';

/** As printed in the last line. */
export type HangUpFigures = {
  readonly callers: number;
  readonly left: number;
  /** Callers with the whole answer. */
  readonly whole: number;
  readonly upstream_calls: number;
};

/** What the scene should come to. */
export function expectedHangUp(leg: Leg): HangUpFigures {
  return { callers: 5, left: 1, whole: 4, upstream_calls: leg === 'detached' ? 1 : 2 };
}

/** Plays the scene; `watch` is handed the callers when all are under way, and waited for. */
export async function hangUp(
  stack: Stack,
  leg: Leg,
  watch: (asked: readonly Asked[]) => Promise<void>,
): Promise<HangUpFigures> {
  const callsBefore = stack.mock.callCount();
  const joinsBefore = await joins(stack);
  const request = { url: stack.ingress.url, ...requestFor(hangUpPrompt) };
  const first = begin(request);
  await stack.mock.waitForCalls(callsBefore + 1);
  const others = burst(4, request);
  const asked = [first, ...others].map((sent) => ({ prompt: hangUpPrompt, sent }));
  const leave = async (): Promise<void> => {
    await until('the others share the first caller’s flight', async () => (await joins(stack)) >= joinsBefore + 4);
    if (leg === 'detached') await until('tokens have come', () => tokensOf(first.soFar().body).length >= 8);
    first.leave();
  };
  await Promise.all([watch(asked), leave()]);
  const answers = await answered(asked);
  const calls = stack.mock.calls.slice(callsBefore);
  return {
    callers: answers.length,
    left: answers.filter(({ exchange }) => exchange.ending === 'left').length,
    whole: answers.filter((answer) => isWhole(answer, calls)).length,
    upstream_calls: calls.length,
  };
}

async function joins(stack: Stack): Promise<number> {
  return (await stack.processor.metrics()).get('coalesce_hits_total') ?? 0;
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`in 5 s it has not come to this: ${what}`);
    await delay(10);
  }
}
