/**
 * Takes nonces out of a text, in time linear in its length: a pattern is tried once at each place, and no step looks at a
 * character twice, however often it is tried.
 */

import type { NoncePattern, NonceStep } from './nonce-pattern.ts';

/** Puts `mark` in the place of each nonce, from the left; of patterns that match at one place the first one counts. */
export function stripNonces(patterns: readonly NoncePattern[], mark: string): (text: string) => string {
  return (text) => {
    const matchers = patterns.map((pattern) => matcher(pattern, text));
    let result = '';
    let copied = 0;
    let at = 0;
    while (at < text.length) {
      const end = firstMatch(matchers, at);
      if (end === -1) at += 1;
      else {
        result += text.slice(copied, at) + mark;
        at = end;
        copied = end;
      }
    }
    return copied === 0 ? text : result + text.slice(copied);
  };
}

function firstMatch(matchers: readonly ((start: number) => number)[], start: number): number {
  for (const match of matchers) {
    const end = match(start);
    if (end !== -1) return end;
  }
  return -1;
}

/** Offset after the match that begins at `start`, or -1. */
function matcher(pattern: NoncePattern, text: string): (start: number) => number {
  const runs = pattern.map((step) => runOf(step, text));
  return (start) => {
    let at = start;
    for (const [index, step] of pattern.entries()) {
      const length = Math.min(runs[index]?.(at) ?? 0, step.most);
      if (length < step.least) return -1;
      at += length;
    }
    return at;
  };
}

/**
 * How many characters of a step's set stand at a place. Places that are asked for never go back, because what the steps
 * before take never ends earlier for a later start: so one run is remembered, and no character is looked at twice.
 */
function runOf({ set }: NonceStep, text: string): (at: number) => number {
  let start = 0;
  let end = 0;
  return (at) => {
    if (at < start || at >= end) {
      start = at;
      end = at;
      while (end < text.length && set[text.charCodeAt(end)] === true) end += 1;
    }
    return end - at;
  };
}
