/**
 * The kinds of single values that a configuration holds, each a zod type whose message says what is wrong and what is
 * allowed, with what of that JSON Schema can express. Owns no key and no default.
 */
import { z } from 'zod';

import { parseAddress } from './address.ts';
import type { Address } from './address.ts';
import { formatDuration, formatSize, parseDuration, parseSize } from './durations-and-sizes.ts';

/** The members of a JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Both ends belong to the range. */
export interface Range {
  readonly least?: number;
  readonly most?: number;
}

/** Node's timers hold 2^31 - 1 ms; 24 days are under it. */
const longestMs = 576 * 3_600_000;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;

/** Milliseconds. */
export function duration({ least = 0, most = longestMs }: Range = {}): z.ZodType<number> {
  const allowed = `a duration such as 500ms, 2s, 10m or 1h, from ${formatDuration(least)} to ${formatDuration(most)}`;
  const schema = { type: 'string', pattern: '^[0-9]{1,15}(h|m|s|ms)$' };
  return scalar(allowed, (value) => within(parseDuration(value), least, most), schema);
}

/** Bytes. */
export function size({ least = 0, most = Number.MAX_SAFE_INTEGER }: Range = {}): z.ZodType<number> {
  const bound = most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `from ${least} to ${formatSize(most)}`;
  const schema = {
    anyOf: [
      { type: 'integer', minimum: least, maximum: most },
      { type: 'string', pattern: '^[0-9]{1,15}(GiB|MiB|KiB)?$' },
    ],
  };
  const allowed = `a size such as 65536, 64KiB or 8MiB, ${bound}`;
  return scalar(allowed, (value) => within(parseSize(value), least, most), schema);
}

/** A whole number. */
export function count({ least = 0, most = 1_000_000_000 }: Range = {}): z.ZodType<number> {
  const read = (value: unknown): number | null => {
    return typeof value === 'number' && Number.isInteger(value) ? within(value, least, most) : null;
  };
  return scalar(`a whole number from ${least} to ${most}`, read, { type: 'integer', minimum: least, maximum: most });
}

/** From 0 to 100, not only whole numbers. */
export function percentage(): z.ZodType<number> {
  return numberUpTo(100);
}

/** From 0 to 1. */
export function share(): z.ZodType<number> {
  return numberUpTo(1);
}

/** At least 0, not only whole numbers. */
export function amount(): z.ZodType<number> {
  const read = (value: unknown): number | null => {
    return typeof value === 'number' && Number.isFinite(value) ? within(value, 0, 1e9) : null;
  };
  return scalar('a number from 0 to 1000000000', read, { type: 'number', minimum: 0, maximum: 1e9 });
}

/** One word of a closed list. */
export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodType<Word> {
  const read = (value: unknown): Word | null => words.find((word) => word === value) ?? null;
  return scalar(`one of ${words.join(', ')}`, read, { enum: words });
}

export function address(): z.ZodType<Address> {
  const allowed = 'an address such as 127.0.0.1:9002, [::1]:9002 or unix:/run/coalescer.sock';
  const read = (value: unknown): Address | null => (typeof value === 'string' ? parseAddress(value) : null);
  return scalar(allowed, read, { type: 'string', pattern: '^unix:/|:[0-9]{1,5}$' });
}

/** An origin: scheme, host and port of `http` or `https`, nothing behind it. */
export function origin(): z.ZodType<string> {
  const allowed = 'an http or https URL with a host and no path, such as http://127.0.0.1:10001';
  return scalar(allowed, readOrigin, { type: 'string' });
}

/** A URL of `http` or `https` with a path, and without credentials, which a mistake would not repeat. */
export function webUrl(example: string): z.ZodType<string> {
  const allowed = `an http or https URL with its path and no credentials, such as ${example}`;
  const type = z.unknown().transform((value, context) => {
    const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
    const isWeb = url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
    const isPlain = url !== null && url.username === '' && url.password === '' && url.hash === '';
    if (url !== null && isWeb && isPlain && url.pathname !== '/') return url.href;
    const hasCredentials = typeof value === 'string' && value.includes('@');
    const said = hasCredentials ? 'a URL with credentials is not allowed' : notAllowed(value);
    context.addIssue({ code: 'custom', message: `${said}, expected ${allowed}` });
    return z.NEVER;
  });
  return type.meta({ type: 'string' });
}

/** A header's name, in lower case. */
export function headerName(): z.ZodType<string> {
  const read = (value: unknown): string | null => {
    return typeof value === 'string' && token.test(value) ? value.toLowerCase() : null;
  };
  return scalar("a header's name", read, { type: 'string', pattern: token.source });
}

export function nonEmptyText(): z.ZodType<string> {
  const read = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  return scalar('a text that is not empty', read, { type: 'string', minLength: 1 });
}

/** A text of one form; `allowed` says which. */
export function matching(form: RegExp, allowed: string): z.ZodType<string> {
  const read = (value: unknown): string | null => (typeof value === 'string' && form.test(value) ? value : null);
  return scalar(allowed, read, { type: 'string', pattern: form.source });
}

export function flag(): z.ZodType<boolean> {
  return scalar('true or false', (value) => (typeof value === 'boolean' ? value : null), { type: 'boolean' });
}

/** Like `nonEmptyText`, for what no message may repeat. */
export function confidentialText(allowed: string): z.ZodType<string> {
  const text = z.unknown().transform((value, context) => {
    if (typeof value === 'string' && value !== '') return value;
    context.addIssue({ code: 'custom', message: `not a text, expected ${allowed}` });
    return z.NEVER;
  });
  return text.meta({ type: 'string', minLength: 1 });
}

function notAllowed(value: unknown): string {
  return value === undefined ? 'missing' : `${shown(value)} is not allowed`;
}

/** A value as a message shows it: short, on one line. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  // Who puts a credential into a URL does not want it in a log.
  const text = (JSON.stringify(value) ?? String(value)).replaceAll(/\/\/[^/?#\s]*@/g, '//<redacted>@');
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/**
 * A value of which `read` makes another, or null where it is not allowed. `schema` takes at least what `read` takes: an
 * editor that refuses what the program accepts is worse than none.
 */
export function scalar<Value extends string | number | boolean | object>(
  allowed: string,
  read: (value: unknown) => Value | null,
  schema: JsonSchema,
): z.ZodType<Value> {
  const type = z.unknown().transform((value, context) => {
    const result = read(value);
    if (result !== null) return result;
    context.addIssue({ code: 'custom', message: `${notAllowed(value)}, expected ${allowed}` });
    return z.NEVER;
  });
  return type.meta({ ...schema });
}

function numberUpTo(most: number): z.ZodType<number> {
  const read = (value: unknown): number | null => (typeof value === 'number' ? within(value, 0, most) : null);
  return scalar(`a number from 0 to ${most}`, read, { type: 'number', minimum: 0, maximum: most });
}

function readOrigin(value: unknown): string | null {
  if (typeof value !== 'string' || !URL.canParse(value)) return null;
  const url = new URL(value);
  const web = url.protocol === 'http:' || url.protocol === 'https:';
  return web && (url.href === `${url.origin}/` || url.href === url.origin) ? url.origin : null;
}

function within(value: number | null, least: number, most: number): number | null {
  return value !== null && value >= least && value <= most ? value : null;
}
