/**
 * What is wrong with a configuration, in words: zod's issues become one sentence per key. Never repeats a value of a
 * key that holds a secret: its type in `values/scalars.ts` words its own message.
 */
import type { z } from 'zod';

import { nearestKey } from './keys.ts';
import { shown } from '../values/scalars.ts';

/** One mistake, at its place in a file. */
export interface Mistake {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** `limits.max_waiters`, `tenant.from[0].header`. */
  readonly path: string;
  /** What is wrong, and what is allowed. */
  readonly message: string;
}

/** The keys that lead to a value; numbers are indexes of lists. */
export type KeyPath = readonly (string | number)[];

/** One mistake, before its place is known. `onKey`: about the key itself, not its value. */
export interface Finding {
  readonly path: KeyPath;
  readonly message: string;
  readonly onKey: boolean;
}

/** `FILE:LINE: path.to.key: what is wrong, what is allowed`. */
export function printMistake({ file, line, path, message }: Mistake): string {
  return `${file}:${line}: ${path}: ${message}`;
}

/** A path as messages print it. */
export function printPath(path: KeyPath): string {
  if (path.length === 0) return '(document)';
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** A path without list indexes, and with `*` for the name of a policy, as `knownKeys` has it. */
export function dottedPath(path: KeyPath): string {
  const [first, second, ...rest] = path.filter((step) => typeof step === 'string');
  const named = first === 'policies' && second !== undefined ? [first, '*', ...rest] : [first, second, ...rest];
  return named.filter((step) => step !== undefined).join('.');
}

/** One finding per mistake that zod found; `known` are the keys that there are, `at` is where the value stands. */
export function findingsOf(issues: readonly z.core.$ZodIssue[], known: readonly string[], at: KeyPath = []): Finding[] {
  const withUnknownKeys = new Set(
    issues.filter((issue) => issue.code === 'unrecognized_keys').map((issue) => JSON.stringify(issue.path)),
  );
  return issues.flatMap((issue) => {
    const path = [...at, ...issue.path.filter((step) => typeof step !== 'symbol')];
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], known));
    // What an object lacks is moot while one of its keys may be a mistyped one.
    if (issue.code === 'custom' && withUnknownKeys.has(JSON.stringify(issue.path))) return [];
    return [{ path, message: messageOf(issue), onKey: false }];
  });
}

function unknownKey(path: KeyPath, known: readonly string[]): Finding {
  const key = dottedPath(path);
  const name = String(path[1]);
  if (path[0] === 'policies' && known.includes(key.slice('policies.*.'.length)))
    return { path, message: 'belongs at the top of the file, not in a policy', onKey: true };
  const nearest = nearestKey(key, known)?.replace('policies.*', `policies.${name}`);
  const hint = nearest === undefined ? '' : `, the nearest known key is ${nearest}`;
  return { path, message: `unknown key${hint}`, onKey: true };
}

function messageOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = issue.expected === 'array' ? 'a list' : 'a mapping of keys';
      return issue.input === undefined ? `missing, expected ${expected}` : `${shown(issue.input)} is not ${expected}`;
    }
    case 'too_small':
      return `too few entries, expected at least ${issue.minimum}`;
    case 'too_big':
      return `too many entries, expected at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}
