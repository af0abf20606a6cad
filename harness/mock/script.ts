/**
 * How the mock LLM is told to answer: its script, and the `x-mock-*` request headers that fill one in. It owns the words;
 * carrying them out is left to mock-llm.ts.
 */

/** Where an answer breaks off: before its head, or after so many chunks of its body. */
export type BreakPoint = 'head' | number;

/** One answer. Every member has a default, so a script names only what it changes. */
export type MockScript = {
  /** Status code; 200 by default. */
  readonly status: number;
  /** Extra response headers, in order. */
  readonly headers: ReadonlyArray<readonly [string, string]>;
  /** Trailers, sent after a chunked body. */
  readonly trailers: ReadonlyArray<readonly [string, string]>;
  /** Wait before the head. */
  readonly delayMs: number;
  /** Tokens in the answer; each is one chunk of a stream. */
  readonly tokens: number;
  /** Wait before each chunk of a stream but the first. */
  readonly gapMs: number;
  /** Length of a token's text; 0 leaves the natural one. Large values make huge chunks and large JSON bodies. */
  readonly tokenBytes: number;
  /**
   * What the body is: `answer` in the shape of the endpoint, `echo` (JSON of what arrived), `none`, or these bytes (each
   * one chunk).
   */
  readonly body: 'answer' | 'echo' | 'none' | readonly Uint8Array[];
  /** How the end of the body is told: by chunks, by `content-length`, or by closing the connection. */
  readonly framing: 'chunked' | 'length' | 'close';
  /** Whether the body is compressed where the request's `accept-encoding` names gzip. */
  readonly gzip: boolean;
  /**
   * Where the connection is destroyed; null: nowhere. With a gap, the chunks before it have reached the reader. Under the
   * framing `close` a cut cannot be told from the end.
   */
  readonly reset: BreakPoint | null;
  /** Where the answer stops for ever, with the connection open; null: nowhere. */
  readonly hang: BreakPoint | null;
  /** Awaited before the head (step `head`) and before each chunk (its index), so that a test chooses the order. */
  readonly pace: ((step: BreakPoint) => Promise<void> | void) | null;
};

/** The answer of a mock that is told nothing: ten tokens at once. */
export const plainScript: MockScript = {
  status: 200,
  headers: [],
  trailers: [],
  delayMs: 0,
  tokens: 10,
  gapMs: 0,
  tokenBytes: 0,
  body: 'answer',
  framing: 'chunked',
  gzip: false,
  reset: null,
  hang: null,
  pace: null,
};

type Reader = (value: string) => Partial<MockScript>;

/** The request headers that script an answer. Headers and trailers are JSON objects of names and values. */
const readers: Readonly<Record<string, Reader>> = {
  'x-mock-status': (value) => ({ status: Number(value) }),
  'x-mock-headers': (value) => ({ headers: pairs(value) }),
  'x-mock-trailers': (value) => ({ trailers: pairs(value) }),
  'x-mock-delay-ms': (value) => ({ delayMs: Number(value) }),
  'x-mock-tokens': (value) => ({ tokens: Number(value) }),
  'x-mock-gap-ms': (value) => ({ gapMs: Number(value) }),
  'x-mock-token-bytes': (value) => ({ tokenBytes: Number(value) }),
  'x-mock-body': (value) => ({ body: value === 'echo' || value === 'none' ? value : 'answer' }),
  'x-mock-framing': (value) => ({ framing: value === 'length' || value === 'close' ? value : 'chunked' }),
  'x-mock-gzip': (value) => ({ gzip: value === 'auto' }),
  'x-mock-reset': (value) => ({ reset: breakPoint(value) }),
  'x-mock-hang': (value) => ({ hang: breakPoint(value) }),
};

/** What the request's headers (lower-case names) say about the answer. */
export function scriptFromHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Partial<MockScript> {
  const parts = Object.entries(readers).map(([name, read]) => {
    const value = headers[name];
    return typeof value === 'string' ? read(value) : {};
  });
  return Object.assign({}, ...parts) as Partial<MockScript>;
}

function pairs(value: string): [string, string][] {
  return Object.entries(JSON.parse(value) as Record<string, string>);
}

function breakPoint(value: string): BreakPoint {
  return value === 'head' ? 'head' : Number(value);
}
