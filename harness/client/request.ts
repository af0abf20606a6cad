/** What the test client is asked to send. */
import type { ClientHttp2Session } from 'node:http2';

export type ClientRequest = {
  /** Scheme, host and port, as `http://127.0.0.1:10000`. */
  readonly url: string;
  /** `POST` with a body, else `GET`, unless given. */
  readonly method?: string;
  /** Path and query; `/` by default. */
  readonly path?: string;
  /** `host` (or `:authority`) may be among them. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Bytes are sent with `content-length`; parts chunked, each when the iterable yields it. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** 1 unless given. */
  readonly version?: 1 | 2;
  /** An HTTP/2 session to share; by default each request has a connection of its own. */
  readonly session?: ClientHttp2Session;
};
