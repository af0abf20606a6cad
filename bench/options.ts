/** The command line of the bench. */
import { parseArgs } from 'node:util';
import type { Form } from './loads/plan.ts';

export const USAGE = `usage: npm run bench -- [--quick] [--rounds N] [--only LOAD,...] [--codec] [--fleet] [--profile FILE]
  --quick     a short form of one round that prints only
  --rounds N  rounds, 1 to 20 (3 unless given, 1 with --quick)
  --only      only loads whose names begin so; prints only
  --codec     only the wire codec, in this process
  --fleet     only what another instance's follower waits longer, through Redis
  --profile   prints a .cpuprofile of the processor by part, without its first 4 s
npm run bench:gate -- [--rounds N]: compares with bench/ratios.json (3 rounds of the short form unless given)`;

export type Options = {
  readonly kind: 'bench' | 'codec' | 'fleet' | 'gate';
  readonly form: Form;
  readonly rounds: number;
  /** Beginnings of names; null: all loads. */
  readonly only: readonly string[] | null;
  /** The file to print, instead of a measurement. */
  readonly profile: string | null;
};

/** What yields a ratio in the short form, and nothing else. */
const gated = ['bypass', 'unique', 'mixed', 'burst 200', 'streams', 'gaps'];

/** Null where the call is wrong. */
export function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        ...{
          quick: { type: 'boolean' },
          codec: { type: 'boolean' },
          gate: { type: 'boolean' },
          fleet: { type: 'boolean' },
        },
        ...{ rounds: { type: 'string' }, only: { type: 'string' }, profile: { type: 'string' } },
      },
    });
    const isGate = values.gate === true;
    const isQuick = values.quick === true;
    const rounds = Number(values.rounds ?? (isQuick ? 1 : 3));
    if (!Number.isInteger(rounds) || rounds < 1 || rounds > 20) return null;
    const kind = isGate ? 'gate' : values.codec === true ? 'codec' : values.fleet === true ? 'fleet' : 'bench';
    const only = isGate ? gated : (values.only?.split(',') ?? null);
    return { kind, form: isGate || isQuick ? 'quick' : 'whole', rounds, only, profile: values.profile ?? null };
  } catch {
    // An option that is not known: the caller gets the usage.
    return null;
  }
}
