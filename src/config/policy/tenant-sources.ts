/** How a configuration writes where a tenant comes from, and how that is printed again. */
import { z } from 'zod';

import type { TenantSource } from '../../coalesce/request/policy.ts';
import { headerName, nonEmptyText, oneOf } from '../values/scalars.ts';

/** A place in dynamic metadata. */
export const metadataPlace: z.ZodType<{ readonly namespace: string; readonly path: readonly string[] }> =
  z.strictObject({ namespace: nonEmptyText(), path: z.array(nonEmptyText()).min(1).max(16) });

const singleKeys = {
  header: headerName().optional(),
  query: nonEmptyText().optional(),
  metadata: metadataPlace.optional(),
  attribute: nonEmptyText().optional(),
  sigv4: oneOf(['access_key']).optional(),
};

interface SingleSource {
  readonly header?: string | undefined;
  readonly query?: string | undefined;
  readonly metadata?: { readonly namespace: string; readonly path: readonly string[] } | undefined;
  readonly attribute?: string | undefined;
  readonly sigv4?: 'access_key' | undefined;
}

const words = Object.keys(singleKeys).join(', ');

const oneKey = { minProperties: 1, maxProperties: 1 };

const single = z
  .strictObject(singleKeys)
  .transform((read, context) => {
    const sources = sourcesOf(read);
    if (sources[0] !== undefined && sources.length === 1) return sources[0];
    context.addIssue({ code: 'custom', message: `expected exactly one of ${words}` });
    return z.NEVER;
  })
  .meta(oneKey);

export const tenantSource: z.ZodType<TenantSource> = z
  .strictObject({ ...singleKeys, all: z.array(single).min(1).max(8).optional() })
  .transform((read, context) => {
    const sources = sourcesOf(read);
    if (read.all !== undefined) sources.push({ kind: 'all', sources: read.all });
    if (sources[0] !== undefined && sources.length === 1) return sources[0];
    context.addIssue({ code: 'custom', message: `expected exactly one of ${words}, all` });
    return z.NEVER;
  })
  .meta(oneKey);

/** As the configuration writes it. */
export function renderSource(source: TenantSource): Record<string, unknown> {
  switch (source.kind) {
    case 'header':
      return { header: source.name };
    case 'query':
      return { query: source.name };
    case 'metadata':
      return { metadata: { namespace: source.namespace, path: source.path } };
    case 'attribute':
      return { attribute: source.name };
    case 'sigv4':
      return { sigv4: 'access_key' };
    case 'all':
      return { all: source.sources.map(renderSource) };
  }
}

/** The headers that a tenant is read from, in lower case. */
export function tenantHeaders(sources: readonly TenantSource[]): string[] {
  return sources.flatMap((source) => {
    if (source.kind === 'all') return tenantHeaders(source.sources);
    return source.kind === 'header' ? [source.name] : [];
  });
}

function sourcesOf(read: SingleSource): TenantSource[] {
  const sources: TenantSource[] = [];
  if (read.header !== undefined) sources.push({ kind: 'header', name: read.header });
  if (read.query !== undefined) sources.push({ kind: 'query', name: read.query });
  if (read.metadata !== undefined) sources.push({ kind: 'metadata', ...read.metadata });
  if (read.attribute !== undefined) sources.push({ kind: 'attribute', name: read.attribute });
  if (read.sigv4 !== undefined) sources.push({ kind: 'sigv4' });
  return sources;
}
