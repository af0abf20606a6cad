/**
 * What an operator allows for an exchange: whose answers may be shared with whom, and how far. Plain data; `config/`
 * reads and checks it.
 */

export type TenantSource =
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'query'; readonly name: string }
  | { readonly kind: 'metadata'; readonly namespace: string; readonly path: readonly string[] }
  /** One of the `request_attributes` that Envoy sends. */
  | { readonly kind: 'attribute'; readonly name: string }
  | { readonly kind: 'sigv4' }
  | { readonly kind: 'all'; readonly sources: readonly TenantSource[] };

/** One more part of the key. */
export type KeyInclude =
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'metadata'; readonly namespace: string; readonly path: readonly string[] };

/** How an operator changes what is in the key. */
export interface KeyOptions {
  readonly include: readonly KeyInclude[];
  /** Names in lower case. */
  readonly ignoreHeaders: readonly string[];
  /** JSON Pointers, of which `*` as a whole step stands for every name or index. */
  readonly ignoreBody: readonly string[];
  readonly normalize: Normalize;
}

/** Which differences between the texts of messages do not count. */
export interface Normalize {
  readonly collapseWhitespace: boolean;
  readonly stripTimestamps: boolean;
  /** In the notation of `nonce-pattern.ts`. */
  readonly stripNonces: readonly string[];
}

export interface LateJoin {
  /** Events of a `text/event-stream` that may have passed. */
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** Since the answer's first byte. */
  readonly maxAgeMs: number;
}

export interface Deadlines {
  /** From the start of the upstream call. */
  readonly firstByteMs: number;
  readonly idleMs: number;
  /** From the start of the upstream call. */
  readonly totalMs: number;
  /** From a caller's arrival, while it has no bytes. */
  readonly waitMs: number;
}

/** How what shadow mode would share is looked into. */
export interface ShadowSampling {
  /** Share of the would-be hits whose answers are compared, from 0 to 1. */
  readonly compare: number;
  /** The most of one answer's body that is captured for it, as sent and without its coding. */
  readonly maxBytes: number;
}

export interface Policy {
  /** Changes whenever anything in the policy that decides about sharing changes; part of every key. */
  readonly epoch: string;
  readonly name: string;
  readonly mode: 'off' | 'shadow' | 'enforce';
  readonly tenant: { readonly from: readonly TenantSource[]; readonly anonymous: 'bypass' | 'share' };
  readonly sampling: 'deterministic' | 'seeded' | 'any';
  readonly tools: 'bypass' | 'allow';
  readonly identity: 'keep' | 'ignore';
  readonly key: KeyOptions;
  /** Per cent of the keys that are enforced; the rest is shadowed. Not in the epoch: raising it moves no key. */
  readonly rollout: number;
  /** Not in the epoch either: it decides about no answer. */
  readonly shadow: ShadowSampling;
  /** Callers of a flight beyond the first. */
  readonly maxWaiters: number;
  readonly lateJoin: LateJoin;
  readonly deadlines: Deadlines;
}
