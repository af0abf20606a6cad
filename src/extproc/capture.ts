/** The tee: a leader's answer passes on unchanged, message by message, and is told to its flight. */

import type { FlightId } from '../coalesce/flight/flight.ts';
import { keptBytes } from '../coalesce/flight/kept-bytes.ts';
import type { ExchangeCommand, ExchangePhase, Step } from './exchange-phase.ts';
import { answerHeadOf, leaderCacheStatus } from './headers.ts';
import { codeDetailsOf } from './request-head.ts';
import type { EnvoyMessage, ModeOverride, Reply } from './wire.ts';

/**
 * The length goes: a client that counts its bytes would hang up before our reply to the end has reached Envoy, which takes
 * that for a caller who left.
 */
export const withBody: { readonly mode: ModeOverride; readonly removeHeaders: readonly string[] } = {
  mode: { captureResponse: true },
  removeHeaders: ['content-length'],
};

type Message<Kind extends EnvoyMessage['kind']> = Extract<EnvoyMessage, { kind: Kind }>;

/**
 * Passes the head on, with our `cache-status`, and asks for what follows it. Not before: an exchange that is bypassed after
 * its body was read may be answered before Envoy has seen our stream's end, and a body that is to be sent to us loses its
 * `content-length`.
 */
export function captured(flight: FlightId, message: Message<'responseHeaders'>): Step {
  const { endOfStream } = message;
  if (isEnvoysError(message)) return leftAlone(flight, message);
  const head = answerHeadOf(message);
  const setHeaders = leaderCacheStatus(message.headers);
  const commands: ExchangeCommand[] = [
    { kind: 'reply', reply: { kind: 'continueResponseHeaders', setHeaders, ...(endOfStream ? {} : withBody) } },
    { kind: 'answerBegan', flight, head, endOfStream },
  ];
  return endOfStream ? led(commands) : { phase: { phase: 'capturing', flight }, commands };
}

/**
 * `response.code_details` says who answered: `via_upstream`, or a word for the filter, timeout or fault that made Envoy
 * answer itself. Where Envoy does not send it, every answer counts as the upstream's. Success may be shared whoever it is from.
 */
function isEnvoysError(message: Message<'responseHeaders'>): boolean {
  const details = codeDetailsOf(message);
  return details !== null && details !== 'via_upstream' && !message.status.startsWith('2');
}

/** The answer passes on, to this caller alone. */
function leftAlone(flight: FlightId, message: Message<'responseHeaders'>): Step {
  const setHeaders = leaderCacheStatus(message.headers);
  return led([
    { kind: 'reply', reply: { kind: 'continueResponseHeaders', setHeaders } },
    { kind: 'answeredByEnvoy', flight },
  ]);
}

export function capturedBytes(flight: FlightId, message: Message<'responseBody'>): Step {
  const reply = { kind: 'continueResponseBody' } as const;
  const grew: ExchangeCommand[] = [];
  if (message.body.length > 0) grew.push({ kind: 'answerGrew', flight, bytes: keptBytes(message.body) });
  if (!message.endOfStream)
    return { phase: { phase: 'capturing', flight }, commands: [{ kind: 'reply', reply }, ...grew] };
  return led([...grew, { kind: 'answerEnded', flight, trailers: null }, { kind: 'replyToLast', reply }]);
}

export function capturedTrailers(flight: FlightId, message: Message<'responseTrailers'>): Step {
  return led([
    { kind: 'answerEnded', flight, trailers: message.trailers },
    { kind: 'replyToLast', reply: { kind: 'continueResponseTrailers' } },
  ]);
}

/** Of an answer that was asked for before it was clear that nobody follows it. The end tells that the would-be flight is over. */
export function passedOn(phase: ExchangePhase, message: EnvoyMessage): Step {
  const reply = continuation(message);
  if (reply === null || !('endOfStream' in message)) return passed(reply);
  return message.endOfStream ? passed(reply) : { phase, commands: [{ kind: 'reply', reply }] };
}

function continuation(message: EnvoyMessage): Reply | null {
  switch (message.kind) {
    case 'responseHeaders':
      return { kind: 'continueResponseHeaders' };
    case 'responseBody':
      return { kind: 'continueResponseBody' };
    case 'responseTrailers':
      return { kind: 'continueResponseTrailers' };
    default:
      return null;
  }
}

/** The last word, where there is one; without one the message was out of place. */
function passed(reply: Reply | null): Step {
  const commands: ExchangeCommand[] = reply === null ? [] : [{ kind: 'reply', reply }];
  const ending = reply === null ? 'protocol_error' : 'bypassed';
  return { phase: { phase: 'over', ending }, commands: [...commands, { kind: 'finish' }] };
}

function led(commands: readonly ExchangeCommand[]): Step {
  return { phase: { phase: 'over', ending: 'led' }, commands: [...commands, { kind: 'finish' }] };
}
