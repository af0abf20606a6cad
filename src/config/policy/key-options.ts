/**
 * How a configuration writes what it changes about the key, and how that is printed again. Refuses to take out what makes
 * two questions two, or two callers.
 */
import { z } from 'zod';

import { parsePointer, whyProtected } from '../../coalesce/key/options/body-pointer.ts';
import { isCredentialHeader } from '../../coalesce/key/options/credential-headers.ts';
import { parseNoncePattern } from '../../coalesce/key/options/nonce-pattern.ts';
import type { KeyInclude, KeyOptions, Normalize } from '../../coalesce/request/policy.ts';
import { headerName, shown } from '../values/scalars.ts';
import { metadataPlace } from './tenant-sources.ts';

/** The keys below `key` that a policy may override. Each list replaces the base's. */
export interface KeyShape {
  readonly include: z.ZodDefault<z.ZodType<readonly KeyInclude[]>>;
  readonly ignore_headers: z.ZodDefault<z.ZodType<readonly string[]>>;
  readonly ignore_body: z.ZodDefault<z.ZodType<readonly string[]>>;
  readonly normalize: z.ZodDefault<z.ZodType<Normalize>>;
}

export function keyShape(base: KeyOptions): KeyShape {
  const list = <Entry>(entry: z.ZodType<Entry>, most: number): z.ZodType<readonly Entry[]> => z.array(entry).max(most);
  return {
    include: list(included, 16).default(base.include),
    ignore_headers: list(ignoredHeader, 64).default(base.ignoreHeaders),
    ignore_body: list(ignoredPointer, 64).default(base.ignoreBody),
    normalize: normalizers.default(base.normalize),
  };
}

export function keyOptionsOf(read: z.output<z.ZodObject<{ [Key in keyof KeyShape]: KeyShape[Key] }>>): KeyOptions {
  const { include, ignore_headers: ignoreHeaders, ignore_body: ignoreBody, normalize } = read;
  return { include, ignoreHeaders, ignoreBody, normalize };
}

/** As the configuration writes them. */
export function renderKeyOptions(options: KeyOptions): Record<string, unknown> {
  const { collapseWhitespace, stripTimestamps, stripNonces } = options.normalize;
  const normalize: unknown[] = [];
  if (collapseWhitespace) normalize.push('collapse_whitespace');
  if (stripTimestamps) normalize.push('strip_timestamps');
  if (stripNonces.length > 0) normalize.push({ strip_nonces: stripNonces });
  return {
    include: options.include.map(renderInclude),
    ignore_headers: options.ignoreHeaders,
    ignore_body: options.ignoreBody,
    normalize,
  };
}

function renderInclude(include: KeyInclude): Record<string, unknown> {
  if (include.kind === 'header') return { header: include.name };
  return { metadata: { namespace: include.namespace, path: include.path } };
}

const included: z.ZodType<KeyInclude> = z
  .strictObject({ header: headerName().optional(), metadata: metadataPlace.optional() })
  .transform(({ header, metadata }, context): KeyInclude => {
    if (header !== undefined && metadata === undefined) return { kind: 'header', name: header };
    if (metadata !== undefined && header === undefined) return { kind: 'metadata', ...metadata };
    context.addIssue({ code: 'custom', message: 'expected exactly one of header, metadata' });
    return z.NEVER;
  })
  .meta({ minProperties: 1, maxProperties: 1 });

const ignoredHeader: z.ZodType<string> = headerName().transform((name, context) => {
  const fault = whyNotIgnored(name);
  if (fault === null) return name;
  context.addIssue({ code: 'custom', message: `${shown(name)} ${fault}` });
  return z.NEVER;
});

function whyNotIgnored(name: string): string | null {
  if (name.includes('*'))
    return "is not allowed, expected a header's whole name: an unknown header may change the answer";
  if (name === 'x-coalesce' || name.startsWith('x-coalesce-')) return 'is how callers steer sharing, expected another';
  return isCredentialHeader(name) ? 'proves or tells who asks, which always counts, expected another' : null;
}

const ignoredPointer: z.ZodType<string> = readPointer().meta({ type: 'string', pattern: '^/' });

const normalizer: z.ZodType<Partial<Normalize>> = readNormalizer().meta({
  anyOf: [
    { enum: ['collapse_whitespace', 'strip_timestamps'] },
    {
      type: 'object',
      properties: { strip_nonces: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 8 } },
      required: ['strip_nonces'],
      additionalProperties: false,
    },
  ],
});

const normalizers: z.ZodType<Normalize> = z.array(normalizer).max(8).transform(merged);

function readPointer(): z.ZodType<string> {
  return z.unknown().transform((value, context) => {
    const pointer = typeof value === 'string' ? parsePointer(value) : null;
    const why = pointer === null ? null : whyProtected(pointer);
    if (typeof value === 'string' && pointer !== null && why === null) return value;
    const expected = 'is not allowed, expected a JSON Pointer such as /metadata/trace or /stop/*';
    const message =
      why === null ? `${shown(value)} ${expected}` : `${shown(value)} is not allowed: ${why}, which always counts`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

function readNormalizer(): z.ZodType<Partial<Normalize>> {
  return z.unknown().transform((value, context): Partial<Normalize> => {
    if (value === 'collapse_whitespace') return { collapseWhitespace: true };
    if (value === 'strip_timestamps') return { stripTimestamps: true };
    const patterns = noncePatterns(value);
    const faults = patterns?.flatMap(faultOf) ?? [
      `${shown(value)} is not allowed, expected collapse_whitespace, strip_timestamps or {strip_nonces: [PATTERN, …]}`,
    ];
    for (const message of faults) context.addIssue({ code: 'custom', message });
    return faults.length > 0 || patterns === null ? z.NEVER : { stripNonces: patterns };
  });
}

function noncePatterns(value: unknown): string[] | null {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'strip_nonces') return null;
  const patterns: unknown = Reflect.get(value, 'strip_nonces');
  const usable = Array.isArray(patterns) && patterns.length > 0 && patterns.length <= 8;
  return usable && patterns.every((pattern) => typeof pattern === 'string') ? patterns : null;
}

function faultOf(pattern: string): string[] {
  const parsed = parseNoncePattern(pattern);
  return typeof parsed === 'string' ? [`the pattern ${shown(pattern)} ${parsed}`] : [];
}

function merged(parts: readonly Partial<Normalize>[]): Normalize {
  return {
    collapseWhitespace: parts.some((part) => part.collapseWhitespace),
    stripTimestamps: parts.some((part) => part.stripTimestamps),
    stripNonces: parts.flatMap((part) => part.stripNonces ?? []),
  };
}
