/**
 * One flight: an upstream call under one key, the record of its answer, and those who wait for it. Data and questions
 * only; what happens to a flight is in `table/`.
 */

import type { HeaderList, RequestHead } from '../request/head.ts';
import type { Key } from '../key/key.ts';
import type { ErrorShape, Usage } from '../profiles/profile.ts';
import type { AnswerEdges } from '../answer/edges.ts';
import type { Tokens } from '../answer/usage.ts';
import type { ShedReason } from '../request/outcomes.ts';
import type { Policy } from '../request/policy.ts';
import type { Tenant } from '../request/tenant.ts';
import type { FlightEnding } from './endings.ts';
import type { EventCounter } from './event-counter.ts';
import type { FleetRole } from './fleet-role.ts';
import type { Cursor, ReplayBuffer } from './replay-buffer.ts';

declare const flightIdBrand: unique symbol;
declare const exchangeIdBrand: unique symbol;
declare const ticketBrand: unique symbol;
/** 16 lower-case hex digits. */
export type FlightId = string & { readonly [flightIdBrand]: true };
/** One gRPC stream with Envoy: one filter's view of one exchange. */
export type ExchangeId = number & { readonly [exchangeIdBrand]: true };
/** `t` and 64 lower-case hex digits, from 256 random bits. */
export type Ticket = string & { readonly [ticketBrand]: true };

export type Leg = 'attached' | 'detached';

/** The head of an answer as the upstream sent it. */
export interface AnswerHead {
  /** Three digits. */
  readonly status: string;
  /** End-to-end fields only, without `content-length`. */
  readonly headers: HeaderList;
  /** Bytes that the head promises; null where it does not say. */
  readonly contentLength: number | null;
  /** It names trailers that come behind the body (RFC 9110, 6.6.2). */
  readonly announcesTrailers: boolean;
}

/** What the detached leg needs to make the call: the first caller's request. */
export interface CallRequest {
  readonly head: RequestHead;
  readonly body: Uint8Array;
}

export interface Answer {
  readonly head: AnswerHead;
  readonly buffer: ReplayBuffer;
  /** Null where the answer is no `text/event-stream`. */
  readonly events: EventCounter | null;
  /** Of a `text/event-stream`: where it says what it cost. */
  readonly edges: AnswerEdges | null;
  /** When the upstream call began. */
  readonly calledAt: number;
  readonly firstByteAt: number;
  lastByteAt: number;
  /** When it was last due time to send a comment, to keep connections alive; null where it never was. */
  keptAliveAt: number | null;
  /** Detached: no more is read from the upstream until a reader has caught up. */
  heldUp: boolean;
}

/** A running upstream call; `leader` is the exchange that carries it in the attached leg, null in the detached and for a call of the fleet's. */
interface Call {
  readonly startedAt: number;
  readonly leader: ExchangeId | null;
}

export type FlightState =
  /** Nobody calls yet: the first caller that reaches deliver starts the call. */
  | { readonly phase: 'boarding' }
  /** Shared flights: the fleet is asked who leads. */
  | { readonly phase: 'claiming' }
  | { readonly phase: 'queued'; readonly since: number }
  /** It has a slot of this process, and waits for one of the fleet's. `since`: from the queue on. */
  | { readonly phase: 'admitting'; readonly since: number }
  | ({ readonly phase: 'calling' } & Call)
  /** Another instance calls; its answer is awaited from the fleet. */
  | ({ readonly phase: 'following' } & Call)
  /** Detached: a call came to nothing, and the next one is made at `until`. `startedAt` is the first one's. */
  | { readonly phase: 'backingOff'; readonly startedAt: number; readonly until: number }
  | ({ readonly phase: 'answering'; readonly answer: Answer } & Call)
  /** The whole answer is recorded; callers read on. The key is free. */
  | {
      readonly phase: 'landed';
      readonly answer: Answer;
      readonly trailers: HeaderList | null;
      /** What the answer says it cost; null where it says nothing. */
      readonly tokens: Tokens | null;
    }
  /** Given up without an answer: callers are sent upstream by themselves, one after the other. The key is free. */
  | { readonly phase: 'releasing'; readonly reason: ReleaseReason }
  /** Given up without an answer: callers get one of ours. The key is free. */
  | { readonly phase: 'refusing'; readonly reason: RefusalReason }
  | { readonly phase: 'ended' };

/** Why a caller goes upstream by itself after all. Bypass reasons, since that is what it becomes. */
export type ReleaseReason = 'limit' | 'egress_down' | 'draining';

/** Why a caller gets an answer of our own. */
export type RefusalReason = ShedReason | 'first_byte_timeout' | 'idle_timeout' | 'total_timeout';

export type CallerState =
  /** Holds a ticket that deliver has not presented yet. */
  | { readonly phase: 'ticketed'; readonly expiresAt: number }
  /** In deliver, without bytes. */
  | { readonly phase: 'waiting'; readonly exchange: ExchangeId }
  /** In deliver, and the answer's head was sent. */
  | { readonly phase: 'streaming'; readonly exchange: ExchangeId };

/** `replayed`: it gets an answer that the negative cache kept. */
export type CallerRole = 'leader' | 'follower' | 'replayed';

export interface Caller {
  readonly ticket: Ticket;
  /** Digest of what identifies the exchange that the ticket was made for. */
  readonly binding: string;
  readonly role: CallerRole;
  readonly arrivedAt: number;
  /** Replayed: until when the answer is kept. */
  readonly freshUntil: number | null;
  flight: Flight;
  /** Its place in the answer, held from the join on so that nothing it needs is dropped. */
  cursor: Cursor;
  state: CallerState;
  /** A comment is due to it, unless bytes come first. */
  owedKeepAlive: boolean;
}

export interface Flight {
  readonly id: FlightId;
  readonly key: Key;
  readonly tenant: Tenant;
  readonly leg: Leg;
  readonly policy: Policy;
  readonly model: string;
  readonly errorShape: ErrorShape;
  readonly usage: Usage;
  readonly begunAt: number;
  /** Digest of the first caller's raw body. */
  readonly rawDigest: string;
  /** Detached: the request to send, until an answer has begun. */
  request: CallRequest | null;
  state: FlightState;
  /** In order of arrival; the exchange that leads an attached flight is not among them. */
  readonly callers: Set<Caller>;
  /** Followers that ever joined. */
  followers: number;
  promotions: number;
  /** Upstream calls begun. */
  attempts: number;
  /** Time in the queue for a slot that is over. */
  queuedMs: number;
  /** Whether it occupies one of `admission.max_upstream`. */
  holdsSlot: boolean;
  /** Whether it has asked the fleet for a slot and not given it back. */
  holdsFleetSlot: boolean;
  fleet: FleetRole;
  /** False once over its replay cap: it takes no joiners, and bytes that all have read are dropped. */
  recordsWhole: boolean;
  /** Detached: since when it has had no caller. */
  orphanedAt: number | null;
  ending: FlightEnding | null;
}

/** Callers beyond the first that are aboard now. */
export function waitersOf(flight: Flight): number {
  const { phase } = flight.state;
  const isCalled = phase === 'calling' || phase === 'answering' || phase === 'landed';
  const leader = isCalled && flight.leg === 'attached' && flight.fleet.role !== 'follows' ? 1 : 0;
  return Math.max(0, flight.callers.size + leader - 1);
}

export type LateJoin = 'open' | 'events' | 'bytes' | 'age' | 'closed';

/** Whether a caller that comes at `now` would still get the answer from its first byte, and if not, what is against it. */
export function lateJoinOf(flight: Flight, now: number): LateJoin {
  const { state, policy } = flight;
  if (flight.ending !== null) return 'closed';
  if (!flight.recordsWhole) return 'bytes';
  if (state.phase !== 'answering') return 'open';
  const { answer } = state;
  if (now - answer.firstByteAt > policy.lateJoin.maxAgeMs) return 'age';
  if (answer.buffer.length > policy.lateJoin.maxBytes) return 'bytes';
  if ((answer.events?.events ?? 0) > policy.lateJoin.maxEvents) return 'events';
  return answer.buffer.openCursor() === null ? 'bytes' : 'open';
}

/** The callers in deliver that have no bytes yet, in order of arrival. */
export function waitingCallers(flight: Flight): Caller[] {
  return [...flight.callers].filter((caller) => caller.state.phase === 'waiting');
}
