/**
 * The normalisers: which differences between texts an operator has declared to be noise. Lossy by definition, so each is
 * off until asked for. Every one takes linear time.
 */

import type { Normalize } from '../../request/policy.ts';
import { parseNoncePattern } from './nonce-pattern.ts';
import { stripNonces } from './nonce-stripper.ts';

/**
 * What stands for something that was stripped, so that a text with it and one without stay two. A lone surrogate: no body
 * that is read can hold one.
 */
const stripped = { timestamp: '\ud800', nonce: '\ud801' };

/**
 * RFC 3339, section 5.6, with a space for the T as its note allows. The digits of a fraction are bounded, and two starts
 * never share what they look at.
 */
const INSTANT =
  /(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,32})?(?:[Zz](?![0-9A-Za-z])|[+-](?:[01]\d|2[0-3]):[0-5]\d(?!\d))/g;

const SPACES = /[ \t\r\n]+/g;

/** The text that stands for a text in the key; null where nothing is to be normalised. */
export function normalizer(options: Normalize): ((text: string) => string) | null {
  // Spaces last: a timestamp holds one.
  const steps: ((text: string) => string)[] = [];
  if (options.stripTimestamps) steps.push((text) => text.replace(INSTANT, stripped.timestamp));
  const patterns = options.stripNonces.map(parseNoncePattern).filter((pattern) => typeof pattern !== 'string');
  if (patterns.length > 0) steps.push(stripNonces(patterns, stripped.nonce));
  if (options.collapseWhitespace) steps.push(collapseWhitespace);
  return steps.length === 0 ? null : (text) => steps.reduce((left, step) => step(left), text);
}

function collapseWhitespace(text: string): string {
  const collapsed = text.replace(SPACES, ' ');
  const start = collapsed.startsWith(' ') ? 1 : 0;
  return collapsed.slice(start, collapsed.endsWith(' ') ? Math.max(start, collapsed.length - 1) : collapsed.length);
}
