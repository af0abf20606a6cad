/** What the bench's client is asked to do and what it reports: the words between the bench and either client. */

type Common = {
  /** Scheme, host and port. */
  readonly url: string;
  /** Makes the prompts of this run differ from those of every other. */
  readonly label: string;
  readonly tokens: number;
};

export type Order = Common &
  (
    | {
        readonly kind: 'burst';
        readonly callers: number;
        readonly gapMs: number;
        /** What the upstream waits before its first byte. */
        readonly firstMs?: number;
      }
    | {
        readonly kind: 'requests';
        readonly connections: number;
        readonly durationMs: number;
        /** Each request says `x-coalesce: never`. */
        readonly isOptedOut?: boolean;
      }
    | { readonly kind: 'streams'; readonly connections: number; readonly waves: number }
    | { readonly kind: 'gaps'; readonly followers: number; readonly gapMs: number }
    | {
        readonly kind: 'open';
        /** Requests per second, at fixed times whatever the answers take. */
        readonly rate: number;
        readonly durationMs: number;
        /** Share of the requests that repeat the one before them, 0 to 1. */
        readonly duplicates: number;
        readonly firstMs: number;
        readonly gapMs: number;
        readonly isStream: boolean;
      }
  );

/** What came of it. Times in milliseconds. */
export type Outcome = {
  readonly calls: number;
  /** Calls that were not answered 200, or not to the end. */
  readonly failed: number;
  readonly upstreamCalls: number;
  /** Reads that brought bytes of a body, of all calls; undefined where the client does not count them. */
  readonly reads: number | undefined;
  /** Tokens that all callers together got. */
  readonly chunks: number;
  /** From the first call's start to the last call's end. */
  readonly wallMs: number;
  readonly firstByteP50Ms: number;
  readonly firstByteP99Ms: number;
  readonly totalP50Ms: number;
  readonly totalP99Ms: number;
  /** Time between two tokens: of the first caller, and of all others. Not of every load. */
  readonly firstCallerGapP99Ms: number | undefined;
  readonly laterCallersGapP99Ms: number | undefined;
};
