/**
 * The chaos run's command line: what may be asked for, and the text that explains it.
 */
import { parseArgs } from 'node:util';
import type { Leg } from '../harness/stack/envoy-config.ts';

/** What to do; a wrong call carries the sentence that says what is wrong. */
export type Options =
  | {
      readonly action: 'run';
      readonly minutes: number;
      readonly seed: number;
      readonly legs: readonly Leg[];
      readonly redis: boolean;
    }
  | { readonly action: 'help' }
  | { readonly action: 'refuse'; readonly why: string };

export const help: string = `Usage: npm run chaos -- --minutes M [--seed N] [--leg attached|detached] [--redis]

Callers of every kind, an upstream that fails in every way, and the processor, the egress and Envoy killed, stopped and
restarted at random. It ends with a table.

  --minutes M  how long in all (2 unless given)
  --seed N     chooses what is asked, answered and killed, in which order; the clock stays the machine's
  --leg LEG    one leg alone; both, half the time each, unless given
  --redis      two instances that share their flights through a Redis, which is killed and stopped too
  --help       this text

Exit 0: nothing wrong, hung, failed or left over; 1: something was, with its log on stderr, or it could not run; 64: wrong call.
ENVOY_BIN and ENVOY_VERSION choose the Envoy.
`;

/** Reads the arguments that follow the script's name; `seed` is used where they name none. */
export function readOptions(args: readonly string[], seed: number): Options {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string', default: '2' },
        seed: { type: 'string', default: String(seed) },
        leg: { type: 'string' },
        redis: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help === true) return { action: 'help' };
    const [minutes, chosen] = [Number(values.minutes), Number(values.seed)];
    if (!(minutes > 0 && minutes <= 24 * 60)) return refuse(`--minutes is a number above 0, not "${values.minutes}"`);
    if (!Number.isSafeInteger(chosen)) return refuse(`--seed is a whole number, not "${values.seed}"`);
    const legs = legsOf(values.leg);
    if (legs === undefined) return refuse(`--leg is detached or attached, not "${values.leg}"`);
    return { action: 'run', minutes, seed: chosen, legs, redis: values.redis };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(why: string): Options {
  return { action: 'refuse', why };
}

function legsOf(leg: string | undefined): readonly Leg[] | undefined {
  if (leg === undefined) return ['detached', 'attached'];
  return leg === 'detached' || leg === 'attached' ? [leg] : undefined;
}
