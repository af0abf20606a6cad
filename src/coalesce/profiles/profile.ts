/**
 * What is known about one kind of LLM endpoint, as data: which paths it has, how its body is read and compared, and what
 * makes a call unsafe to share. Profiles hold no code; `objections/`, `known-profiles.ts` and the room
 * `key/` read them.
 */

import type { KnownNames } from './known-names.ts';
import type { PathPattern } from './path-pattern.ts';

/** The manner in which an endpoint reports errors. `plain`: a message alone. */
export type ErrorShape = 'openai' | 'anthropic' | 'gemini' | 'plain';

/** Names from the root of a JSON text. */
export type JsonPath = readonly string[];

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

/** Something in the body that is a side effect, or state that the call makes or continues. */
export type SideEffect =
  /** A value, but for those that do no harm; `absent` among them where its absence does none. */
  | {
      readonly kind: 'value';
      readonly path: JsonPath;
      readonly harmless: readonly ('absent' | 'null' | 'false')[];
      readonly why: string;
    }
  /** A root member that is this text, or an array that holds it. */
  | { readonly kind: 'word'; readonly member: string; readonly word: string; readonly why: string }
  /** A root member that is an array with an item of one of these types, or one with neither a type nor the member `unless`. */
  | {
      readonly kind: 'item';
      readonly member: string;
      readonly types: readonly string[];
      readonly unless: string;
      readonly why: string;
    };

/** A list of tools, and which of them the caller runs itself. Every other kind, and an unknown one, may act. */
export type ToolList =
  /** An item's `type` tells its kind. */
  | {
      readonly path: JsonPath;
      readonly toldBy: 'type';
      readonly callerRuns: readonly string[];
      /** Whether the caller also runs an item without a type. */
      readonly typeless: 'caller_runs' | 'unknown';
    }
  /** The names of an item's members tell its kinds. */
  | { readonly path: JsonPath; readonly toldBy: 'members'; readonly callerRuns: readonly string[] }
  /** Items have no kinds: the caller runs all. */
  | { readonly path: JsonPath; readonly toldBy: 'nothing' };

export interface ToolRules {
  readonly lists: readonly ToolList[];
  /** Places of the word that keeps the model from using any tool. */
  readonly choices: readonly { readonly path: JsonPath; readonly off: string }[];
}

export interface Seed {
  readonly path: JsonPath;
  /** Numbers that ask for a random seed. */
  readonly random: readonly string[];
}

/** How determinism is read. `none`: the endpoint does not sample. */
export type Sampling =
  | 'none'
  | {
      /** All places of the temperature; where it stands in several, each must be zero. */
      readonly temperatures: readonly JsonPath[];
      readonly seeds: readonly Seed[];
      /** Objects that turn sampling on whatever else is said, unless their `type` is the one word that turns them off. */
      readonly overrides: readonly { readonly path: JsonPath; readonly off: string; readonly why: string }[];
    };

/** Where the model's name stands: a root member, or `{model}` in the path. */
export type ModelPlace =
  /** `whenAbsent` is what the model is called where the endpoint needs no name. */
  { readonly from: 'body'; readonly member: string; readonly whenAbsent?: string } | { readonly from: 'path' };

/** What decides whether the answer is streamed: a root member, or the endpoint alone. */
export type StreamPlace =
  | { readonly from: 'body'; readonly member: string; readonly whenAbsent: boolean }
  | { readonly from: 'endpoint'; readonly streams: boolean };

/** Where numbers of tokens stand; null where there is none. Values in headers are decimal texts. */
export interface TokenPlaces {
  readonly in: 'json' | 'headers';
  readonly prompt: JsonPath | null;
  readonly completion: JsonPath | null;
}

/** Where an answer says what it cost; null where it does not. */
export interface Usage {
  /** In an answer that is one JSON text, or in its headers. */
  readonly answer: TokenPlaces | null;
  /** In the events of a stream; for each number the last event that holds it counts. */
  readonly stream: TokenPlaces | null;
}

/** Headers that count otherwise than `key/ignored-headers.ts` says. */
export interface HeaderRules {
  /** Headers that choose the answer here, though elsewhere some of their values do not count. */
  readonly counted: readonly { readonly name: string; readonly why: string }[];
  /** Headers that only say who asks, as `identity` for the body. */
  readonly identity: readonly { readonly name: string; readonly why: string }[];
}

export interface Profile {
  /** Part of every key. */
  readonly name: string;
  /** Where the facts come from: documentation, or a package and its version. */
  readonly sources: readonly string[];
  readonly errorShape: ErrorShape;
  readonly method: string;
  readonly paths: readonly PathPattern[];
  /** `any`: the servers read JSON whatever the header says, also where it is missing. */
  readonly contentType: 'json' | 'any';
  readonly headers?: HeaderRules;
  readonly model: ModelPlace;
  readonly stream: StreamPlace;
  /** Every root member that some upstream of this endpoint knows: a name that only folds to one of them is refused (rule K2). */
  readonly rootNames: KnownNames;
  readonly root: Envelope;
  /** Root members that only say who asks, and that the answer does not echo (rule K7). */
  readonly identity: readonly { readonly member: string; readonly why: string }[];
  readonly sideEffects: readonly SideEffect[];
  readonly tools: ToolRules;
  readonly sampling: Sampling;
  readonly usage: Usage;
}
