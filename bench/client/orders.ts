/** What the bench's client is asked to do and what it reports: the words between main process and client process. */

type Common = {
  /** Scheme, host and port. */
  readonly url: string;
  /** Makes the prompts of this run differ from those of every other. */
  readonly label: string;
  readonly tokens: number;
};

export type Order = Common &
  (
    | { readonly kind: 'burst'; readonly callers: number; readonly gapMs: number }
    | { readonly kind: 'requests'; readonly connections: number; readonly durationMs: number }
    | { readonly kind: 'streams'; readonly connections: number; readonly waves: number }
    | { readonly kind: 'gaps'; readonly followers: number; readonly gapMs: number }
  );

/** What came of it. Times in milliseconds. */
export type Outcome = {
  readonly calls: number;
  /** Calls that were not answered 200, or not to the end. */
  readonly failed: number;
  /** Reads that brought bytes of a body, of all calls. */
  readonly reads: number;
  /** From the first call's start to the last call's end. */
  readonly wallMs: number;
  readonly firstByteP50Ms: number;
  readonly firstByteP99Ms: number;
  readonly totalP50Ms: number;
  readonly totalP99Ms: number;
  /** Time between two reads: of the first caller, and of all that came after it. Only of `gaps`. */
  readonly firstCallerGapP99Ms: number | undefined;
  readonly laterCallersGapP99Ms: number | undefined;
};
