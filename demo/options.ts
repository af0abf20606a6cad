/**
 * The demo's command line: what may be asked for, and the text that explains it.
 */
import { parseArgs } from 'node:util';
import type { Leg } from '../harness/stack.ts';

/** What to do; a wrong call carries the sentence that says what is wrong. */
export type Options =
  | { readonly action: 'run'; readonly leg: Leg; readonly keep: boolean }
  | { readonly action: 'help' }
  | { readonly action: 'refuse'; readonly why: string };

export const help: string = `Usage: npm run demo -- [--leg detached|attached] [--keep]

Starts a mock LLM, the coalescer and Envoy on free ports of this machine. Then 25 callers ask 5 distinct prompts at once,
with at most 2 upstream calls allowed at a time, and at last a first caller hangs up while others wait for its answer.

  --leg LEG   how a flight gets its answer: detached (the default) or attached
  --keep      leave everything running afterwards, with curl lines to try; Ctrl-C ends it
  --help      this text

The last line of stdout is JSON with what was counted. Exit 0: as expected; 1: not as expected, or it could not run;
64: wrong call. ENVOY_BIN and ENVOY_VERSION choose the Envoy.
`;

/** Reads the arguments that follow the script's name. */
export function readOptions(args: readonly string[]): Options {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { leg: { type: 'string' }, keep: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help === true) return { action: 'help' };
    const leg = values.leg ?? 'detached';
    if (leg !== 'detached' && leg !== 'attached') {
      return { action: 'refuse', why: `--leg is detached or attached, not "${leg}"` };
    }
    return { action: 'run', leg, keep: values.keep ?? false };
  } catch (error) {
    return { action: 'refuse', why: error instanceof Error ? error.message : String(error) };
  }
}
