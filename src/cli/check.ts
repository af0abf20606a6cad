/**
 * `check`: the effective configuration, or every mistake in it; or the definition as JSON Schema. Writes nothing itself.
 */
import { renderEffective } from '../config/effective.ts';
import { printMistake } from '../config/mistakes/mistakes.ts';
import { readConfigFile } from '../config/read.ts';
import type { ReadFile } from '../config/read.ts';
import { schemaText } from '../config/schema/json-schema.ts';
import { exitCodes } from './command-line.ts';

/** What a finished command leaves to its process. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** `check --schema`: what editors want to know of a configuration. */
export function printSchema(): CommandResult {
  return { stdout: schemaText(), stderr: '', exitCode: exitCodes.ok };
}

/** Checks the file at `path`; without one (null) shows the defaults. */
export function check(path: string | null, readFile: ReadFile): CommandResult {
  const result = readConfigFile(path, readFile);
  if (result.kind === 'config') return { stdout: renderEffective(result.config), stderr: '', exitCode: exitCodes.ok };
  const lines = result.mistakes.map((mistake) => `${printMistake(mistake)}\n`);
  return { stdout: '', stderr: lines.join(''), exitCode: exitCodes.mistakes };
}
