/**
 * `explain`: of requests that somebody has captured, whether they would be shared, and what their key is made of. Asks the
 * code that `serve` runs; writes nothing itself.
 */
import { policyFor } from '../coalesce/request/policy-choice.ts';
import type { Policy } from '../coalesce/request/policy.ts';
import type { Config } from '../config/definition.ts';
import { policyBook } from '../config/inline-policy.ts';
import { printMistake } from '../config/mistakes/mistakes.ts';
import { readConfigFile, type ReadFile } from '../config/read.ts';
import type { CommandResult } from './check.ts';
import { exitCodes } from './command-line.ts';
import { firstDifference } from './explain/difference.ts';
import { explainRequest } from './explain/explanation.ts';
import { printJson, printText } from './explain/print.ts';
import { readRequests, type CapturedRequest } from './explain/requests.ts';

export interface ExplainOptions {
  readonly config: string | null;
  readonly policy: string | null;
  readonly json: boolean;
  /** Files, `-` for stdin; none: stdin. */
  readonly requests: readonly string[];
}

export interface Inputs {
  readonly readFile: ReadFile;
  readonly readStdin: () => Uint8Array;
}

/** Shorter than any secret that a configuration may hold, so that no key of `serve` is ever the same. */
const fixedSecret: Uint8Array = Buffer.from('explain without a secret');

export function explain(options: ExplainOptions, inputs: Inputs): CommandResult {
  const read = readConfigFile(options.config, inputs.readFile);
  if (read.kind === 'mistakes') {
    const lines = read.mistakes.map((mistake) => `${printMistake(mistake)}\n`);
    return failure(exitCodes.wrongConfig, lines.join(''));
  }
  const choose = policyChooser(read.config, options.policy);
  if (typeof choose === 'string') return failure(exitCodes.wrongCall, `--policy: ${choose}\n`);
  const captured = readAll(options.requests, inputs);
  if (typeof captured === 'string') return failure(exitCodes.wrongCall, `${captured}\n`);
  const { config } = read;
  const secret = config.secret ?? fixedSecret;
  const explanations = captured.map((request) => {
    return explainRequest(request, { policy: choose(request), secret, config });
  });
  const [first, second, ...others] = explanations;
  const isPair = first !== undefined && second !== undefined && others.length === 0;
  const difference = isPair ? firstDifference(first, second) : null;
  const print = options.json ? printJson : printText;
  const stdout = print(explanations, { isPair, difference, hasSecret: config.secret !== null });
  return { stdout, stderr: '', exitCode: exitCodes.ok };
}

/** As the processor chooses; the reason where the policy that is asked for is none. */
function policyChooser(config: Config, asked: string | null): ((request: CapturedRequest) => Policy) | string {
  const { policy: base, policies } = config;
  if (asked === null) return ({ head }) => policyFor(head, base, policies);
  const result = policyBook(base, policies)(asked);
  return result.kind === 'policy' ? () => result.policy : result.message;
}

function readAll(files: readonly string[], { readFile, readStdin }: Inputs): CapturedRequest[] | string {
  const captured: CapturedRequest[] = [];
  for (const file of files.length === 0 ? ['-'] : files) {
    const name = file === '-' ? 'stdin' : file;
    try {
      captured.push(...readRequests(Buffer.from(file === '-' ? readStdin() : readFile(file)), name));
    } catch (error) {
      return `${name}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return captured;
}

function failure(exitCode: number, stderr: string): CommandResult {
  return { stdout: '', stderr, exitCode };
}
