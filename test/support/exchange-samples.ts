/** Every phase of the protocol machine and every event that it can get, in all the forms that make a difference to it. */

import type { FlightId, Ticket } from '../../src/coalesce/flight/flight.ts';
import { openaiChat } from '../../src/coalesce/profiles/openai/chat.ts';
import type { OwnAnswer } from '../../src/coalesce/table/effects.ts';
import type { Decision } from '../../src/coalesce/table/joining.ts';
import type { ExchangeEvent, ExchangePhase } from '../../src/extproc/exchange-phase.ts';
import type { EnvoyMessage, LazyStructs } from '../../src/extproc/wire.ts';
import { answerHead } from './flight-deck.ts';
import { sampleHead } from './request-samples.ts';

export const flight = '0123456789abcdef' as FlightId;
export const ticket = 't1' as Ticket;

export function structs(values: Readonly<Record<string, unknown>> = {}): LazyStructs {
  return { has: () => Object.keys(values).length > 0, get: (name) => values[name] };
}

type Message<Kind extends EnvoyMessage['kind']> = Extract<EnvoyMessage, { kind: Kind }>;

export function requestHeaders(changes: Partial<Message<'requestHeaders'>> = {}): Message<'requestHeaders'> {
  const { method, authority, path, headers } = sampleHead();
  return {
    kind: 'requestHeaders',
    head: { method, scheme: 'http', authority, path, protocol: null, headers },
    endOfStream: false,
    attributes: structs(),
    metadata: structs(),
    observability: false,
    ...changes,
  };
}

export function responseHeaders(changes: Partial<Message<'responseHeaders'>> = {}): Message<'responseHeaders'> {
  const headers = [['content-type', 'text/event-stream']] as const;
  return { kind: 'responseHeaders', headers, status: '200', endOfStream: false, attributes: structs(), ...changes };
}

export const withTicket: LazyStructs = structs({ coalesce: { ticket } });
export const withRoute: LazyStructs = structs({ 'envoy.filters.http.ext_proc': { 'xds.route_name': 'llm' } });

export const refusal: OwnAnswer = { status: 429, reason: 'max_wait', errorShape: 'openai', retryAfterSeconds: 1 };

const head = sampleHead();
const profile = openaiChat;

export const phaseSamples: {
  readonly [Name in ExchangePhase['phase']]: readonly Extract<ExchangePhase, { phase: Name }>[];
} = {
  opened: [
    { phase: 'opened', filter: null },
    { phase: 'opened', filter: 'decide' },
    { phase: 'opened', filter: 'deliver' },
  ],
  screening: [{ phase: 'screening', head }],
  bodyAwaited: [{ phase: 'bodyAwaited', head, profile }],
  judging: [{ phase: 'judging', head }],
  redeeming: [{ phase: 'redeeming' }],
  leading: [{ phase: 'leading', flight }],
  capturing: [{ phase: 'capturing', flight }],
  shadowed: [{ phase: 'shadowed' }],
  compared: [{ phase: 'compared' }],
  comparing: [{ phase: 'comparing' }],
  waiting: [
    { phase: 'waiting', flight, waitMs: 1_000, told: false },
    { phase: 'waiting', flight, waitMs: 1_000, told: true },
  ],
  streaming: [{ phase: 'streaming', flight }],
  over: [{ phase: 'over', ending: 'led' }],
};

/** Envoy's messages by their own kind, everything else by the event's. */
export type EventName = EnvoyMessage['kind'] | Exclude<ExchangeEvent['kind'], 'messageReceived'>;

const body = Buffer.from('{}');

const messageSamples: { readonly [Kind in EnvoyMessage['kind']]: readonly Message<Kind>[] } = {
  requestHeaders: [
    requestHeaders(),
    requestHeaders({ metadata: withTicket }),
    requestHeaders({ attributes: withRoute }),
    requestHeaders({ attributes: withRoute, metadata: withTicket }),
  ],
  requestBody: [
    { kind: 'requestBody', body, endOfStream: true },
    { kind: 'requestBody', body, endOfStream: false },
    { kind: 'requestBody', body: Buffer.alloc(0), endOfStream: true },
  ],
  requestTrailers: [{ kind: 'requestTrailers' }],
  responseHeaders: [responseHeaders(), responseHeaders({ endOfStream: true })],
  responseBody: [
    { kind: 'responseBody', body, endOfStream: false },
    { kind: 'responseBody', body, endOfStream: true },
    { kind: 'responseBody', body: Buffer.alloc(0), endOfStream: true },
  ],
  responseTrailers: [{ kind: 'responseTrailers', trailers: [] }],
  malformed: [{ kind: 'malformed', why: 'test' }],
};

const decisions: readonly Decision[] = [
  { kind: 'lead', flight },
  { kind: 'board', role: 'leader', flight, ticket },
  { kind: 'alone', reason: 'limit' },
  { kind: 'shed', reason: 'queue_full', answer: { ...refusal, reason: 'queue_full' } },
];

const answer = answerHead();
type Event<Kind extends ExchangeEvent['kind']> = Extract<ExchangeEvent, { kind: Kind }>;

const coreSamples: { readonly [Kind in Exclude<ExchangeEvent['kind'], 'messageReceived'>]: readonly Event<Kind>[] } = {
  streamEnded: [{ kind: 'streamEnded' }],
  screened: [
    { kind: 'screened', screening: { kind: 'bypass', reason: 'not_llm' }, capture: true },
    { kind: 'screened', screening: { kind: 'candidate', body: 'buffered', profile }, capture: true },
    { kind: 'screened', screening: { kind: 'candidate', body: 'buffered_partial', profile }, capture: false },
  ],
  judged: [
    { kind: 'judged', judgement: { kind: 'bypass', reason: 'side_effects' } },
    { kind: 'judged', judgement: { kind: 'shadow', would: { role: 'leader', flight, isCompared: false } } },
    { kind: 'judged', judgement: { kind: 'shadow', would: { role: 'follower', flight, isCompared: false } } },
    { kind: 'judged', judgement: { kind: 'shadow', would: { role: 'follower', flight, isCompared: true } } },
    ...decisions.map((decision): Event<'judged'> => ({ kind: 'judged', judgement: { kind: 'decided', decision } })),
  ],
  redeemed: [
    { kind: 'redeemed', redemption: { kind: 'aboard', flight, role: 'follower', policy: 'default', waitMs: 1_000 } },
    { kind: 'redeemed', redemption: { kind: 'unknown' } },
  ],
  woken: [{ kind: 'woken' }],
  pulled: [
    { kind: 'pulled', delivery: { kind: 'nothing' } },
    { kind: 'pulled', delivery: { kind: 'head', head: answer, role: 'follower', endOfStream: false } },
    { kind: 'pulled', delivery: { kind: 'head', head: answer, role: 'leader', endOfStream: true } },
    { kind: 'pulled', delivery: { kind: 'bytes', bytes: body, endOfStream: false } },
    { kind: 'pulled', delivery: { kind: 'bytes', bytes: body, endOfStream: true } },
    { kind: 'pulled', delivery: { kind: 'trailers', trailers: [] } },
    { kind: 'pulled', delivery: { kind: 'end' } },
  ],
  promoted: [{ kind: 'promoted', flight }],
  released: [{ kind: 'released', reason: 'egress_down' }],
  refused: [{ kind: 'refused', answer: refusal }],
  cutOff: [{ kind: 'cutOff', ending: 'cut' }],
  captureStopped: [{ kind: 'captureStopped' }],
};

function received(messages: readonly EnvoyMessage[]): ExchangeEvent[] {
  return messages.map((message) => ({ kind: 'messageReceived', message }));
}

export const eventSamples: { readonly [Name in EventName]: readonly ExchangeEvent[] } = {
  requestHeaders: received(messageSamples.requestHeaders),
  requestBody: received(messageSamples.requestBody),
  requestTrailers: received(messageSamples.requestTrailers),
  responseHeaders: received(messageSamples.responseHeaders),
  responseBody: received(messageSamples.responseBody),
  responseTrailers: received(messageSamples.responseTrailers),
  malformed: received(messageSamples.malformed),
  ...coreSamples,
};
