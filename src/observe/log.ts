/**
 * Every line that the process logs, as one function each. Ids and the first 8 hex digits of a key only: no prompt, no
 * credential, no header value, no whole key. Error level only where a person should act.
 */
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';

import type { BypassReason, Outcome, ShedReason } from '../coalesce/request/outcomes.ts';
import type { FlightEnding } from '../coalesce/flight/endings.ts';
import type { CallerRole } from '../coalesce/flight/flight.ts';
import { LineBlocks } from './line-blocks.ts';

export interface Listening {
  readonly pid: number;
  /** `127.0.0.1:9002`, `unix:/path`: as bound, with the real port. */
  readonly listen: readonly string[];
  readonly admin: string;
  readonly probes: string | null;
  readonly leg: 'attached' | 'detached';
}

/** One exchange, as one of the two filters saw it to its end. */
export interface ExchangeEnd {
  /** The ext_proc stream's own id. */
  readonly id: string;
  /** Envoy's `x-request-id`: the same at both filters and in the access log. Cut to 64 characters; null without one. */
  readonly requestId: string | null;
  readonly filter: 'decide' | 'deliver';
  /** Null where the exchange ended before the decision. */
  readonly outcome: Outcome | null;
  readonly reason: BypassReason | ShedReason | null;
  readonly role: CallerRole | null;
  readonly flight: string | null;
  /** Under shadow: what it would have been, of which flight. */
  readonly would: 'leader' | 'follower' | null;
  readonly wouldFlight: string | null;
  /** Cut to 8 hex digits. */
  readonly key8: string | null;
  /** A digest under the secret, cut to 16 hex digits: the same for one tenant, and nobody's name. */
  readonly tenant: string | null;
  /** Of a follower: whether its body was not the leader's byte by byte. */
  readonly bodyDiffers: boolean | null;
  /** Null where no request's head came, or no ticket. */
  readonly policy: string | null;
  /** Status of the answer, where it passed here. */
  readonly status: number | null;
  /** Of the answer's body, as far as they passed here. */
  readonly bytes: number;
  /** What the answer that it shared, or that others shared with it, cost: each caller's line has all of it. Null where it does not say. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly durationMs: number;
  /** Until the caller's first byte. */
  readonly waitedMs: number | null;
  /** The word of the exchange's closed list of endings. */
  readonly ending: string;
}

export interface FlightEnd {
  readonly flight: string;
  /** Cut to 8 hex digits. */
  readonly key8: string;
  readonly leg: 'attached' | 'detached';
  /** Whether it led the fleet's flight, followed another instance's, or was this process's own. */
  readonly fleet: 'leads' | 'follows' | 'apart';
  /** The same in the lines of all instances that shared it: 16 hex digits. Null where it was this process's own. */
  readonly fleetFlight: string | null;
  readonly ending: FlightEnding;
  readonly status: number | null;
  readonly bytes: number;
  /** What the answer says it cost. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Callers beyond the first. */
  readonly followers: number;
  readonly promotions: number;
  /** Upstream calls. */
  readonly attempts: number;
  /** In the queue for a slot. */
  readonly queuedMs: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

export interface AnswersCompared {
  /** `none`: one of the two could not be compared; `why` says for what reason. */
  readonly verdict: 'same' | 'diverged' | 'none';
  /** The first part in which they differ. */
  readonly difference: string | null;
  readonly why: string | null;
  /** The would-be flight. */
  readonly flight: string;
  /** Cut to 8 hex digits. */
  readonly key8: string;
  /** Cut to 200 characters. */
  readonly model: string;
  readonly route: string | null;
  readonly policy: string;
  /** What the would-be follower's own answer cost; null where it does not say. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
}

export interface Log {
  readonly listening: (facts: Listening) => void;
  /** `place`: the address or the part that cannot be had. */
  readonly cannotListen: (place: string, error: unknown) => void;
  readonly configurationRefused: (mistakes: readonly string[]) => void;
  /** `kept`: changed keys that need a restart. */
  readonly configurationReloaded: (kept: readonly string[]) => void;
  /** The earlier configuration stays in force. */
  readonly reloadRefused: (mistakes: readonly string[]) => void;
  readonly setLevel: (level: Level | 'silent') => void;
  readonly policyRefused: (policy: string, mistake: string) => void;
  readonly exchangeEnded: (end: ExchangeEnd) => void;
  readonly flightEnded: (end: FlightEnd) => void;
  /** Under shadow, of two answers that would have been one. */
  readonly answersCompared: (comparison: AnswersCompared) => void;
  /** A peer broke the protocol; the stream ended or was passed on. */
  readonly streamMalformed: (filter: string, mistake: string) => void;
  readonly egressDown: (egress: string, error: unknown) => void;
  readonly egressUp: (egress: string) => void;
  /** Spans cannot be sent, told once until they can; nothing else depends on it. */
  readonly collectorDown: (collector: string, error: unknown) => void;
  readonly collectorUp: (collector: string) => void;
  /** Flights are this process's own until `redisUp`. */
  readonly redisDown: (cause: unknown) => void;
  readonly redisUp: () => void;
  readonly overloaded: (loopDelayMs: number) => void;
  readonly internalError: (error: unknown) => void;
  readonly drainStarted: (flights: number, longestMs: number) => void;
  readonly drainEnded: (leftFlights: number, durationMs: number) => void;
  readonly stopped: (exitCode: number) => void;
  /** Everything written so far has reached the destination. At once it is with stdout's own buffer, which is written at the exit. */
  readonly flush: () => Promise<void>;
}

/**
 * A log that writes JSON lines to `destination`, by default to stdout: off the event loop, in blocks, within 200 ms.
 * `flush` before the process ends.
 */
export function createLog(level: Level | 'silent', destination: DestinationStream = toStdout()): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger = pino(options, destination);
  return {
    ...processLines(logger),
    ...troubleLines(logger),
    exchangeEnded: (end) => logger.info(exchangeFields(end)),
    flightEnded: (end) => logger.info(flightFields(end)),
    answersCompared: (comparison) => logger.info(comparisonFields(comparison)),
    setLevel: (next) => {
      logger.level = next;
    },
    flush: async () => {
      // The first ends with the write that is under way, the second with what came meanwhile.
      await flushOnce(logger);
      await flushOnce(logger);
    },
  };
}

type ProcessLine =
  | 'listening'
  | 'cannotListen'
  | 'configurationRefused'
  | 'configurationReloaded'
  | 'drainStarted'
  | 'drainEnded'
  | 'stopped';
type OtherLine = 'exchangeEnded' | 'flightEnded' | 'answersCompared' | 'setLevel' | 'flush';
type TroubleLine = Exclude<keyof Log, ProcessLine | OtherLine>;

function processLines(logger: Logger): Pick<Log, ProcessLine> {
  return {
    listening: (facts) => {
      logger.info({ event: 'listening', ...facts });
      // Whoever started the process waits for this line.
      logger.flush();
    },
    cannotListen: (place, error) => logger.fatal({ event: 'cannot_listen', place, ...described(error) }),
    configurationRefused: (mistakes) => logger.fatal({ event: 'configuration_refused', mistakes }),
    configurationReloaded: (kept) => logger.info({ event: 'configuration_reloaded', kept }),
    drainStarted: (flights, longestMs) => logger.info({ event: 'drain_started', flights, longestMs }),
    drainEnded: (leftFlights, durationMs) => logger.info({ event: 'drain_ended', leftFlights, durationMs }),
    stopped: (exitCode) => logger.info({ event: 'stopped', exitCode }),
  };
}

function troubleLines(logger: Logger): Pick<Log, TroubleLine> {
  return {
    policyRefused: (policy, mistake) => {
      logger.warn({ event: 'policy_refused', policy: policy.slice(0, 200), mistake });
    },
    reloadRefused: (mistakes) => logger.error({ event: 'reload_refused', mistakes }),
    streamMalformed: (filter, mistake) => logger.warn({ event: 'stream_malformed', filter, mistake }),
    egressDown: (egress, error) => logger.error({ event: 'egress_down', egress, ...described(error) }),
    egressUp: (egress) => logger.info({ event: 'egress_up', egress }),
    collectorDown: (collector, error) => logger.warn({ event: 'collector_down', collector, ...described(error) }),
    collectorUp: (collector) => logger.info({ event: 'collector_up', collector }),
    redisDown: (cause) => logger.warn({ event: 'redis_down', ...described(cause) }),
    redisUp: () => logger.info({ event: 'redis_up' }),
    overloaded: (loopDelayMs) => logger.warn({ event: 'overloaded', loopDelayMs }),
    internalError: (error) => logger.error({ event: 'internal_error', ...described(error), stack: stackOf(error) }),
  };
}

/** Field by field: what else an object may carry never reaches the log. */
function exchangeFields(end: ExchangeEnd): Record<string, unknown> {
  return {
    event: 'exchange_ended',
    id: end.id,
    requestId: end.requestId?.slice(0, 64) ?? null,
    filter: end.filter,
    outcome: end.outcome,
    reason: end.reason,
    role: end.role,
    flight: end.flight,
    would: end.would,
    wouldFlight: end.wouldFlight,
    key8: end.key8?.slice(0, 8) ?? null,
    tenant: end.tenant?.slice(0, 16) ?? null,
    bodyDiffers: end.bodyDiffers,
    policy: end.policy,
    status: end.status,
    bytes: end.bytes,
    prompt_tokens: end.promptTokens,
    completion_tokens: end.completionTokens,
    durationMs: end.durationMs,
    waitedMs: end.waitedMs,
    ending: end.ending,
  };
}

function flightFields(end: FlightEnd): Record<string, unknown> {
  return {
    event: 'flight_ended',
    flight: end.flight,
    key8: end.key8.slice(0, 8),
    leg: end.leg,
    fleet: end.fleet,
    fleetFlight: end.fleetFlight,
    ending: end.ending,
    status: end.status,
    bytes: end.bytes,
    prompt_tokens: end.promptTokens,
    completion_tokens: end.completionTokens,
    followers: end.followers,
    promotions: end.promotions,
    attempts: end.attempts,
    queuedMs: end.queuedMs,
    firstByteMs: end.firstByteMs,
    durationMs: end.durationMs,
  };
}

function comparisonFields(comparison: AnswersCompared): Record<string, unknown> {
  return {
    event: 'answers_compared',
    verdict: comparison.verdict,
    difference: comparison.difference,
    why: comparison.why,
    flight: comparison.flight,
    key8: comparison.key8.slice(0, 8),
    model: comparison.model.slice(0, 200),
    route: comparison.route,
    policy: comparison.policy,
    promptTokens: comparison.promptTokens,
    completionTokens: comparison.completionTokens,
  };
}

/** Settles whatever comes of it: a pipe cannot be synced (`EINVAL`), and a lost log stops nobody. */
function flushOnce(logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    logger.flush(() => resolve());
  });
}

/** A reader of stdout that stalls costs lines, never exchanges: at most 8 MiB wait for it. */
function toStdout(): DestinationStream {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    // Blocks are written as they come; without a length sonic-boom's `flush` would not wait for them.
    minLength: 1,
    maxWrite: 64 * 1024,
    maxLength: 8 * 2 ** 20,
  });
  // Unheard, a full disk would end the process in the middle of its exchanges; there is nowhere to report it. At the
  // exit of the process sonic-boom's `flushSync` retries such an error for ever.
  destination.on('error', () => {
    destination.flushSync = () => undefined;
  });
  // After a write that failed, what waits is written with what comes next: but once all room is taken, nothing comes any more.
  destination.on('drop', () => destination.flush());
  return new LineBlocks({
    write: (block) => destination.write(block),
    flush: (done) => destination.flush(done),
    flushSync: () => destination.flushSync(),
  });
}

function described(error: unknown): { readonly error: string; readonly code: string | null } {
  if (!(error instanceof Error)) return { error: String(error), code: null };
  return { error: error.message, code: 'code' in error ? String(error.code) : null };
}

function stackOf(error: unknown): string | null {
  return error instanceof Error ? (error.stack ?? null) : null;
}
