/**
 * What is known about one kind of LLM endpoint, as data: which paths it has, how its body is read and compared, and what
 * makes a call unsafe to share. Profiles hold no code; `side-effects.ts`, `sampling.ts` and `key/canonical-body.ts` read them.
 */

/** The manner in which an endpoint reports errors. */
export type ErrorShape = 'openai' | 'anthropic';

/** An object whose members' order carries nothing (rule K3), and what is known about its members. */
export interface Envelope {
  readonly why: string;
  readonly members: ReadonlyMap<string, MemberRule>;
}

/** How a member of an envelope is compared. A member without a rule keeps its order and its numbers as written. */
export interface MemberRule {
  /** For a value that is an object. */
  readonly object?: Envelope;
  /** For those items of an array that are objects. */
  readonly items?: Envelope;
  /** Why a number here is compared by its exact value and not as written (rule K4). */
  readonly float?: string;
}

/** A root member whose presence is a side effect, or state that the call makes or continues. */
export interface SideEffect {
  readonly member: string;
  /** Values that do no harm, as written in JSON; `null` and `false` are the ones that occur. Absent: none does. */
  readonly harmless: readonly ('null' | 'false')[];
  /** Where given, only a value that is this string, or an array that holds it, does harm. */
  readonly only?: string;
  readonly why: string;
}

export interface ToolList {
  readonly member: string;
  /** Kinds that the caller runs itself, by the item's `type`; null: items have no kinds, and the caller runs all. */
  readonly callerRuns: readonly string[] | null;
  /** Whether the caller also runs an item without a type. */
  readonly typeless: 'caller_runs' | 'unknown';
}

export interface ToolRules {
  readonly lists: readonly ToolList[];
  /** The root member that chooses among tools, and the place of the word `none` in it. */
  readonly choice: readonly string[];
}

export interface Seed {
  readonly path: readonly string[];
  /** Numbers that ask for a random seed. */
  readonly random: readonly string[];
}

/** How determinism is read. `none`: the endpoint does not sample. */
export type Sampling =
  | 'none'
  | {
      readonly temperature: readonly string[];
      readonly seeds: readonly Seed[];
      /** Objects that turn sampling on whatever else is said, unless their `type` is the one word that turns them off. */
      readonly overrides: readonly { readonly member: string; readonly off: string; readonly why: string }[];
    };

/** Where the model's name stands: a root member, or the group `model` of the profile's path. */
export type ModelPlace = { readonly from: 'body'; readonly member: string } | { readonly from: 'path' };

/** What decides whether the answer is streamed. */
export type StreamPlace =
  { readonly from: 'body'; readonly member: string; readonly whenAbsent: boolean } | { readonly from: 'path' };

export interface Profile {
  /** Part of every key. */
  readonly name: string;
  readonly errorShape: ErrorShape;
  readonly method: string;
  /** Matches the whole raw path, without the query. */
  readonly path: RegExp;
  readonly model: ModelPlace;
  readonly stream: StreamPlace;
  /** Every root member that some upstream of this endpoint knows: a name that only folds to one of them is refused (rule K2). */
  readonly rootNames: ReadonlySet<string>;
  readonly root: Envelope;
  /** Root members that only say who asks, and that the answer does not echo (rule K7). */
  readonly identity: readonly { readonly member: string; readonly why: string }[];
  readonly sideEffects: readonly SideEffect[];
  readonly tools: ToolRules;
  readonly sampling: Sampling;
}
