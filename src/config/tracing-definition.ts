/** The key `tracing` of the configuration: where spans go, and which. */
import { z } from 'zod';

import type { HeaderList } from '../coalesce/request/head.ts';
import { formatDuration } from './values/durations-and-sizes.ts';
import { count, duration, nonEmptyText, share, webUrl } from './values/scalars.ts';

export interface TracingContent {
  /** The URL that takes OTLP over HTTP, with its path. */
  readonly endpoint: string;
  /** Of the spans' resource. */
  readonly serviceName: string;
  /** Share of the traces that begin here, from 0 to 1; a caller's own decision stands. */
  readonly sample: number;
  /** Path of a file of header fields for the collector, which may be secret. */
  readonly headersFile: string | null;
  /** Ended spans that wait to be sent. */
  readonly maxQueue: number;
  /** Of one batch. */
  readonly timeoutMs: number;
}

export interface TracingConfig extends TracingContent {
  /** What the file of header fields holds. */
  readonly headers: HeaderList;
}

export const tracing: z.ZodType<TracingContent | null> = z
  .strictObject({
    endpoint: webUrl('http://127.0.0.1:4318/v1/traces'),
    service_name: nonEmptyText().default('envoy-coalescer'),
    sample: share().default(1),
    headers_file: nonEmptyText().nullable().default(null),
    max_queue: count({ least: 1, most: 100_000 }).default(2048),
    timeout: duration({ least: 100, most: 60_000 }).default(10_000),
  })
  .transform((read): TracingContent => ({
    endpoint: read.endpoint,
    serviceName: read.service_name,
    sample: read.sample,
    headersFile: read.headers_file,
    maxQueue: read.max_queue,
    timeoutMs: read.timeout,
  }))
  .nullable()
  .default(null);

/** As the file would say it. */
export function renderTracing(config: TracingConfig | null): Record<string, unknown> | null {
  if (config === null) return null;
  return {
    endpoint: config.endpoint,
    service_name: config.serviceName,
    sample: config.sample,
    headers_file: config.headersFile,
    max_queue: config.maxQueue,
    timeout: formatDuration(config.timeoutMs),
  };
}
