/**
 * The protocol machine of one exchange: what one of the two filters says in, what is to be said and done out. One state
 * per phase, one transition per event; it neither waits nor reads a clock. What a flight does is the flight table's
 * matter, what a key is the eligibility's: the machine asks for both by commands and gets the answers as events.
 *
 * The message rules are those of `envoy.service.ext_proc.v3.ExternalProcessor`: exactly one reply to each message, and a
 * stream that is ended in order lets the exchange go on as it is.
 */

import type { FlightId, ReleaseReason } from '../coalesce/flight/flight.ts';
import type { Screening } from '../coalesce/request/eligibility.ts';
import type { RequestHead } from '../coalesce/request/head.ts';
import type { BypassReason } from '../coalesce/request/outcomes.ts';
import type { Would } from '../coalesce/shadow/shadow-table.ts';
import type { Delivery } from '../coalesce/table/delivering.ts';
import type { Decision, Redemption } from '../coalesce/table/joining.ts';
import { captured, capturedBytes, capturedTrailers, passedOn } from './capture.ts';
import { comparedBytes, comparedHead, comparedTrailers } from './comparing.ts';
import { deliver } from './delivery.ts';
import type {
  ExchangeCommand,
  ExchangeEnding,
  ExchangeEvent,
  ExchangePhase,
  FilterName,
  Judgement,
  Step,
} from './exchange-phase.ts';
import { withIdentityEncoding } from './headers.ts';
import { ownReply } from './own-answer.ts';
import { requestHeadOf, ticketOf } from './request-head.ts';
import type { EnvoyMessage, Reply } from './wire.ts';

/** Advances the machine by one event. Never throws; an event that is out of place ends the stream in order. */
export function advance(phase: ExchangePhase, event: ExchangeEvent): Step {
  switch (event.kind) {
    case 'messageReceived':
      return onMessage(phase, event.message);
    case 'streamEnded':
      return { phase: phase.phase === 'over' ? phase : { phase: 'over', ending: 'left' }, commands: [] };
    case 'screened':
      return phase.phase === 'screening' ? onScreened(phase.head, event) : outOfPlace(phase);
    case 'judged':
      return phase.phase === 'judging' ? onJudged(event.judgement) : outOfPlace(phase);
    case 'redeemed':
      return phase.phase === 'redeeming' ? onRedeemed(event.redemption) : outOfPlace(phase);
    case 'woken':
      return onWoken(phase);
    case 'pulled':
      return onPulled(phase, event.delivery);
    case 'promoted':
      return phase.phase === 'waiting' ? onPromoted(event.flight) : outOfPlace(phase);
    case 'released':
      return phase.phase === 'waiting' ? onReleased(event.reason) : outOfPlace(phase);
    case 'refused':
      return phase.phase === 'waiting' ? over('refused', reply(ownReply(event.answer, 'shed'))) : outOfPlace(phase);
    case 'cutOff':
      return phase.phase === 'streaming' ? { ...over('cut'), commands: [{ kind: 'break' }] } : outOfPlace(phase);
    case 'captureStopped':
      return phase.phase === 'leading' || phase.phase === 'capturing' ? over('capture_stopped') : outOfPlace(phase);
  }
}

function reply(reply: Reply): ExchangeCommand {
  return { kind: 'reply', reply };
}

/** A wake that waited for the stream to take more may find the exchange promoted. */
function onWoken(phase: ExchangePhase): Step {
  if (phase.phase === 'waiting' || phase.phase === 'streaming') return { phase, commands: [{ kind: 'pull' }] };
  return phase.phase === 'leading' || phase.phase === 'capturing' ? { phase, commands: [] } : outOfPlace(phase);
}

/** Says the last word and ends the stream in order. */
function over(ending: ExchangeEnding, ...commands: ExchangeCommand[]): Step {
  return { phase: { phase: 'over', ending }, commands: [...commands, { kind: 'finish' }] };
}

/** An event that the phase does not know. After the end nothing is out of place: messages cross. */
function outOfPlace(phase: ExchangePhase): Step {
  if (phase.phase === 'over') return { phase, commands: [] };
  if (phase.phase === 'streaming') return { ...over('protocol_error'), commands: [{ kind: 'break' }] };
  return over('protocol_error');
}

function onMessage(phase: ExchangePhase, message: EnvoyMessage): Step {
  switch (phase.phase) {
    case 'opened':
      return message.kind === 'requestHeaders' ? onRequestHeaders(phase.filter, message) : outOfPlace(phase);
    case 'bodyAwaited':
      return message.kind === 'requestBody' ? onRequestBody(phase, message) : outOfPlace(phase);
    case 'leading':
      return onLeaderMessage(phase, message);
    case 'capturing':
      return onCapturedMessage(phase, message);
    case 'shadowed':
      return passedOn(phase, message);
    case 'compared':
      return message.kind === 'responseHeaders' ? comparedHead(message) : outOfPlace(phase);
    case 'comparing':
      return onComparedMessage(phase, message);
    case 'screening':
    case 'judging':
    case 'redeeming':
    case 'waiting':
    case 'streaming':
    case 'over':
      return outOfPlace(phase);
  }
}

type RequestHeaders = Extract<EnvoyMessage, { kind: 'requestHeaders' }>;

function onRequestHeaders(named: FilterName | null, message: RequestHeaders): Step {
  const ticket = ticketOf(message);
  const filter = named ?? (message.attributes.has() ? 'decide' : 'deliver');
  const head = requestHeadOf(message);
  if (filter === 'decide') return { phase: { phase: 'screening', head }, commands: [{ kind: 'screen', head }] };
  if (ticket === null) return over('no_ticket', reply({ kind: 'continueRequestHeaders' }));
  return { phase: { phase: 'redeeming' }, commands: [{ kind: 'redeem', ticket, head }] };
}

function onScreened(head: RequestHead, event: { screening: Screening; capture: boolean }): Step {
  const { screening } = event;
  if (screening.kind === 'bypass') {
    const metadata = { outcome: 'bypass', reason: screening.reason };
    return over('bypassed', reply({ kind: 'continueRequestHeaders', metadata }));
  }
  // The head alone: what is to come behind it is asked for when it is there.
  const mode = { requestBody: screening.body, captureResponse: false, responseHeadersOnly: event.capture };
  return {
    phase: { phase: 'bodyAwaited', head, profile: screening.profile },
    commands: [reply({ kind: 'continueRequestHeaders', mode })],
  };
}

type BodyAwaited = Extract<ExchangePhase, { phase: 'bodyAwaited' }>;

/** Under BUFFERED_PARTIAL a body that did not fit comes without its end. */
function onRequestBody(phase: BodyAwaited, message: Extract<EnvoyMessage, { kind: 'requestBody' }>): Step {
  if (!message.endOfStream) return bypassBody('too_large');
  if (message.body.length === 0) return bypassBody('no_body');
  const { head, profile } = phase;
  return { phase: { phase: 'judging', head }, commands: [{ kind: 'judge', head, profile, body: message.body }] };
}

function bypassBody(reason: BypassReason): Step {
  return over('bypassed', reply({ kind: 'continueRequestBody', metadata: { outcome: 'bypass', reason } }));
}

function onJudged(judgement: Judgement): Step {
  switch (judgement.kind) {
    case 'bypass':
      return bypassBody(judgement.reason);
    case 'shadow':
      return onShadowed(judgement.would);
    case 'decided':
      return onDecided(judgement.decision);
  }
}

function onShadowed({ role, isCompared }: Would): Step {
  const metadata = { outcome: 'bypass', reason: 'shadow', would: role };
  const goOn = reply({ kind: 'continueRequestBody', metadata });
  if (isCompared) return { phase: { phase: 'compared' }, commands: [goOn] };
  return role === 'leader' ? { phase: { phase: 'shadowed' }, commands: [goOn] } : over('bypassed', goOn);
}

function onDecided(decision: Decision): Step {
  switch (decision.kind) {
    case 'alone':
      return bypassBody(decision.reason);
    case 'shed':
      return over('shed', reply(ownReply(decision.answer, 'shed')));
    case 'lead': {
      const { flight } = decision;
      const metadata = { outcome: 'leader', flight };
      const goOn = reply({ kind: 'continueRequestBody', metadata, ...withIdentityEncoding });
      return { phase: { phase: 'leading', flight }, commands: [goOn] };
    }
    case 'board': {
      const { role, flight, ticket } = decision;
      return over('boarded', reply({ kind: 'continueRequestBody', metadata: { outcome: role, flight, ticket } }));
    }
  }
}

/** The first pull says whether there is something at once, before Envoy is told to wait. */
function onRedeemed(redemption: Redemption): Step {
  if (redemption.kind === 'unknown') return over('no_ticket', reply({ kind: 'continueRequestHeaders' }));
  const { flight, waitMs } = redemption;
  return { phase: { phase: 'waiting', flight, waitMs, told: false }, commands: [{ kind: 'pull' }] };
}

function onPulled(phase: ExchangePhase, delivery: Delivery): Step {
  if (phase.phase === 'waiting') {
    if (delivery.kind !== 'nothing') return deliver(phase, delivery);
    if (phase.told) return { phase, commands: [] };
    return {
      phase: { ...phase, told: true },
      commands: [reply({ kind: 'extendTimeout', ms: extensionMs(phase.waitMs) })],
    };
  }
  if (phase.phase === 'streaming')
    return delivery.kind === 'nothing' ? { phase, commands: [] } : deliver(phase, delivery);
  return outOfPlace(phase);
}

/** Longer than our own wait, so that it is we who end it; within the filter's `max_message_timeout` of an hour. */
function extensionMs(waitMs: number): number {
  const slackMs = 5_000;
  const longestMs = 3_600_000;
  return Math.min(waitMs + slackMs, longestMs);
}

function onPromoted(flight: FlightId): Step {
  const metadata = { outcome: 'leader', flight };
  const mode = { captureResponse: false, responseHeadersOnly: true };
  return {
    phase: { phase: 'leading', flight },
    commands: [reply({ kind: 'continueRequestHeaders', metadata, mode, ...withIdentityEncoding })],
  };
}

function onReleased(reason: ReleaseReason): Step {
  return over('released', reply({ kind: 'continueRequestHeaders', metadata: { outcome: 'bypass', reason } }));
}

function onLeaderMessage(phase: Extract<ExchangePhase, { phase: 'leading' }>, message: EnvoyMessage): Step {
  return message.kind === 'responseHeaders' ? captured(phase.flight, message) : outOfPlace(phase);
}

function onCapturedMessage(phase: Extract<ExchangePhase, { phase: 'capturing' }>, message: EnvoyMessage): Step {
  if (message.kind === 'responseBody') return capturedBytes(phase.flight, message);
  if (message.kind === 'responseTrailers') return capturedTrailers(phase.flight, message);
  return outOfPlace(phase);
}

function onComparedMessage(phase: ExchangePhase, message: EnvoyMessage): Step {
  if (message.kind === 'responseBody') return comparedBytes(message);
  return message.kind === 'responseTrailers' ? comparedTrailers() : outOfPlace(phase);
}
