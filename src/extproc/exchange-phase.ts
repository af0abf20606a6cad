/**
 * The words of the protocol machine: its phases, the events that it takes and the commands that it gives. What leads from
 * one to the other is in `exchange.ts`.
 */

import type { FlightEnding } from '../coalesce/flight/endings.ts';
import type { AnswerHead, FlightId, ReleaseReason } from '../coalesce/flight/flight.ts';
import type { Profile } from '../coalesce/profiles/profile.ts';
import type { Screening } from '../coalesce/request/eligibility.ts';
import type { HeaderList, RequestHead } from '../coalesce/request/head.ts';
import type { BypassReason } from '../coalesce/request/outcomes.ts';
import type { Would } from '../coalesce/shadow/shadow-table.ts';
import type { Delivery } from '../coalesce/table/delivering.ts';
import type { OwnAnswer } from '../coalesce/table/effects.ts';
import type { Decision, Redemption } from '../coalesce/table/joining.ts';
import type { EnvoyMessage, Reply } from './wire.ts';

export type FilterName = 'decide' | 'deliver';

/** How an exchange's stream ended, for the log. */
export type ExchangeEnding =
  | 'bypassed'
  | 'boarded'
  | 'shed'
  | 'led'
  | 'followed'
  | 'released'
  | 'refused'
  | 'cut'
  | 'no_ticket'
  | 'capture_stopped'
  | 'protocol_error'
  | 'left';

export type ExchangePhase =
  /** Nothing was said yet. `filter` is null where Envoy did not name it. */
  | { readonly phase: 'opened'; readonly filter: FilterName | null }
  /** decide: the head is being screened. */
  | { readonly phase: 'screening'; readonly head: RequestHead }
  /** decide: Envoy was asked for the body. */
  | { readonly phase: 'bodyAwaited'; readonly head: RequestHead; readonly profile: Profile }
  /** decide: the request is being judged. */
  | { readonly phase: 'judging'; readonly head: RequestHead }
  /** deliver: the ticket is being redeemed. */
  | { readonly phase: 'redeeming' }
  /** The exchange is upstream as the leader of `flight`; its answer is to be captured. */
  | { readonly phase: 'leading'; readonly flight: FlightId }
  /** Its answer's head was captured; bytes follow. */
  | { readonly phase: 'capturing'; readonly flight: FlightId }
  /** decide under shadow: would have led; only its end matters. */
  | { readonly phase: 'shadowed' }
  /** decide under shadow: its answer is to be compared with that of another exchange. */
  | { readonly phase: 'compared' }
  /** Its answer's head was captured; bytes follow. */
  | { readonly phase: 'comparing' }
  /** deliver: aboard a flight, without bytes. */
  | { readonly phase: 'waiting'; readonly flight: FlightId; readonly waitMs: number; readonly told: boolean }
  /** deliver: the answer's head was sent. */
  | { readonly phase: 'streaming'; readonly flight: FlightId }
  | { readonly phase: 'over'; readonly ending: ExchangeEnding };

/** What the judging of a request came to. */
export type Judgement =
  | { readonly kind: 'bypass'; readonly reason: BypassReason }
  | { readonly kind: 'shadow'; readonly would: Would }
  | { readonly kind: 'decided'; readonly decision: Decision };

export type ExchangeEvent =
  | { readonly kind: 'messageReceived'; readonly message: EnvoyMessage }
  | { readonly kind: 'streamEnded' }
  | { readonly kind: 'screened'; readonly screening: Screening; readonly capture: boolean }
  | { readonly kind: 'judged'; readonly judgement: Judgement }
  | { readonly kind: 'redeemed'; readonly redemption: Redemption }
  /** There may be something to pull. */
  | { readonly kind: 'woken' }
  | { readonly kind: 'pulled'; readonly delivery: Delivery }
  | { readonly kind: 'promoted'; readonly flight: FlightId }
  | { readonly kind: 'released'; readonly reason: ReleaseReason }
  | { readonly kind: 'refused'; readonly answer: OwnAnswer }
  | { readonly kind: 'cutOff'; readonly ending: FlightEnding }
  | { readonly kind: 'captureStopped' };

export type ExchangeCommand =
  | { readonly kind: 'reply'; readonly reply: Reply }
  /** Reply to the last message of a captured answer: with what it cost, where that is known. */
  | { readonly kind: 'replyToLast'; readonly reply: LastReply }
  /** Screen this head; answer with `screened`. */
  | { readonly kind: 'screen'; readonly head: RequestHead }
  /** Judge and decide; answer with `judged`. */
  | { readonly kind: 'judge'; readonly head: RequestHead; readonly body: Uint8Array; readonly profile: Profile }
  /** Redeem this ticket; answer with `redeemed`. */
  | { readonly kind: 'redeem'; readonly ticket: string; readonly head: RequestHead }
  /** Pull the next piece while the stream takes more; answer with `pulled`. */
  | { readonly kind: 'pull' }
  | {
      readonly kind: 'answerBegan';
      readonly flight: FlightId;
      readonly head: AnswerHead;
      readonly endOfStream: boolean;
    }
  /** The leader's answer is one of Envoy's own: no follower's. */
  | { readonly kind: 'answeredByEnvoy'; readonly flight: FlightId }
  | { readonly kind: 'answerGrew'; readonly flight: FlightId; readonly bytes: Uint8Array }
  | { readonly kind: 'answerEnded'; readonly flight: FlightId; readonly trailers: HeaderList | null }
  /** The answer of this exchange, which is compared. */
  | { readonly kind: 'specimenBegan'; readonly head: AnswerHead }
  | { readonly kind: 'specimenGrew'; readonly bytes: Uint8Array }
  | { readonly kind: 'specimenEnded' }
  /** End the gRPC stream in order: the exchange goes on without us. */
  | { readonly kind: 'finish' }
  /** End the gRPC stream with an error, so that Envoy resets the exchange. */
  | { readonly kind: 'break' };

type LastReply = Extract<Reply, { kind: 'continueResponseBody' | 'continueResponseTrailers' }>;

export interface Step {
  readonly phase: ExchangePhase;
  readonly commands: readonly ExchangeCommand[];
}
