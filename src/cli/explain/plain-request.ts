/** What every notation of a request comes to. */
import type { HeaderList } from '../../coalesce/request/head.ts';

/** A request before it is looked at as Envoy does. */
export interface PlainRequest {
  readonly method: string;
  /** Path and query, or a whole URL. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
  readonly authority?: string;
  readonly metadata?: unknown;
  readonly attributes?: unknown;
  readonly fleet?: unknown;
}
