/** How a flight's answer is recorded: head, bytes, end, or the break. Each step wakes those who wait for it. */

import { AnswerEdges } from '../answer/edges.ts';
import { EventCounter } from '../flight/event-counter.ts';
import { ReplayBuffer } from '../flight/replay-buffer.ts';
import type { Tokens } from '../answer/usage.ts';
import { headerValues, type HeaderList } from '../request/head.ts';
import type { Answer, AnswerHead, Flight, FlightId } from '../flight/flight.ts';
import { conclude, dropRequest, settle, type Board } from './board.ts';
import { costOf, tellTokensSaved } from './answer-cost.ts';
import { nextCallDeadline } from './call-deadlines.ts';
import { loseLeader } from './fleet/losing.ts';
import { publishGrowth, publishHead } from './fleet/publishing.ts';
import { breakOff } from './giving-up.ts';
import { leaderAnswered } from './launching.ts';
import { holdLimits } from './pacing.ts';
import { keepNegative } from './replaying.ts';
import { backsOff, failureOf } from './retrying.ts';

/** The head of the answer came. `endOfStream`: nothing follows it. Ignored where the flight does not wait for one. */
export function answerBegan(
  board: Board,
  flightId: FlightId,
  came: { head: AnswerHead; endOfStream: boolean; now: number },
): void {
  const flight = board.flights.get(flightId);
  if (flight?.state.phase !== 'calling' && flight?.state.phase !== 'following') return;
  const { startedAt, leader } = flight.state;
  const isOwn = flight.state.phase === 'calling';
  const { head, now } = came;
  if (backsOff(board, flight, { failure: failureOf(head), now })) {
    board.effects.push({ kind: 'cancelCall', flight: flight.id });
    return;
  }
  const streamsEvents = isEventStream(head);
  const answer: Answer = {
    head,
    buffer: new ReplayBuffer(board.join),
    events: streamsEvents ? new EventCounter() : null,
    edges: streamsEvents && flight.usage.stream !== null ? new AnswerEdges() : null,
    calledAt: startedAt,
    firstByteAt: now,
    lastByteAt: now,
    keptAliveAt: null,
    heldUp: false,
  };
  flight.state = { phase: 'answering', startedAt, leader, answer };
  // Whoever follows may have to make the call after all, for callers that have no bytes yet.
  if (isOwn) dropRequest(board, flight);
  if (isOwn) board.effects.push({ kind: 'firstByteCame', flight: flight.id, afterMs: now - startedAt });
  publishHead(flight, came, board.effects);
  board.deadlines.set(flight, nextCallDeadline(board, flight));
  if (came.endOfStream || isWhole(answer)) land(board, flight, { trailers: null, now });
  else wakeAboard(board, flight);
}

function isEventStream(head: AnswerHead): boolean {
  return headerValues(head.headers, 'content-type').some((type) => /^\s*text\/event-stream/i.test(type));
}

/**
 * Attached: the leader is answered by Envoy itself, not by the upstream: a filter behind us, a timeout of the route. That
 * concerns this caller, and another one leads in its place.
 */
export function answeredByEnvoy(board: Board, flightId: FlightId, now: number): void {
  const flight = board.flights.get(flightId);
  if (flight !== undefined) leaderAnswered(board, flight, now);
}

/** More bytes of the answer came; `bytes` is given away. What the answer cost, where it is whole with them and says so. */
export function answerGrew(board: Board, flightId: FlightId, came: { bytes: Uint8Array; now: number }): Tokens | null {
  const flight = board.flights.get(flightId);
  if (flight?.state.phase !== 'answering' || came.bytes.length === 0) return null;
  const { answer } = flight.state;
  answer.buffer.append(came.bytes);
  answer.events?.push(came.bytes);
  answer.edges?.push(came.bytes);
  answer.lastByteAt = came.now;
  board.replayBytes += came.bytes.length;
  holdLimits(board, flight, { answer, now: came.now });
  publishGrowth(flight, came, board.effects);
  if (isWhole(answer)) return land(board, flight, { trailers: null, now: came.now });
  wakeAboard(board, flight);
  return null;
}

/**
 * All bytes that the head promised are there: the end need not be awaited, and goes out with the last of them. Trailers can
 * still follow them on HTTP/2, and are waited for where the head names them.
 */
function isWhole({ head, buffer }: Answer): boolean {
  return head.contentLength !== null && !head.announcesTrailers && buffer.length >= head.contentLength;
}

/** The answer ended as its upstream meant it to. Shorter than its head promised, it counts as cut. What it cost, where it says so. */
export function answerEnded(
  board: Board,
  flightId: FlightId,
  came: { trailers: HeaderList | null; now: number },
): Tokens | null {
  const flight = board.flights.get(flightId);
  if (flight?.state.phase !== 'answering') return null;
  const { head, buffer } = flight.state.answer;
  if (head.contentLength === null || buffer.length >= head.contentLength) return land(board, flight, came);
  brokeOff(board, flight, came.now);
  return null;
}

function land(board: Board, flight: Flight, came: { trailers: HeaderList | null; now: number }): Tokens | null {
  if (flight.state.phase !== 'answering') return null;
  const { answer, startedAt, leader } = flight.state;
  if (leader !== null) board.leaders.delete(leader);
  const failed = Number(answer.head.status) >= 400;
  const tokens = failed ? null : costOf(flight, answer);
  flight.state = { phase: 'landed', answer, trailers: came.trailers, tokens };
  board.deadlines.remove(flight);
  if (flight.fleet.role !== 'follows') {
    board.effects.push({ kind: 'answerCompleted', flight: flight.id, afterMs: came.now - startedAt });
  }
  if (tokens !== null) tellTokensSaved(board, flight, tokens);
  conclude(board, flight, { ending: failed ? 'failed_status' : 'landed', now: came.now });
  if (failed) keepNegative(board, flight, { answer, ...came });
  wakeAboard(board, flight);
  settle(board, flight, came.now);
  return tokens;
}

/**
 * Detached: the call failed. Before the answer's head it is made again where the policy says so, or else its callers go
 * upstream by themselves; after it they are cut.
 */
export function answerBroke(board: Board, flightId: FlightId, now: number): void {
  const flight = board.flights.get(flightId);
  if (flight !== undefined) brokeOff(board, flight, now);
}

function brokeOff(board: Board, flight: Flight, now: number): void {
  if (flight.ending !== null) return;
  if (flight.fleet.role === 'follows') {
    loseLeader(board, flight, { why: 'cut', now });
    return;
  }
  const failure = { reason: 'connect_failure', retryAfterMs: null };
  if (flight.state.phase === 'backingOff' || backsOff(board, flight, { failure, now })) return;
  const begun = flight.state.phase === 'answering';
  breakOff(board, flight, {
    ending: begun ? 'cut' : 'failed_connect',
    state: { phase: 'releasing', reason: flight.leg === 'detached' ? 'egress_down' : 'limit' },
    now,
  });
}

function wakeAboard(board: Board, flight: Flight): void {
  for (const { state } of flight.callers) {
    if (state.phase !== 'ticketed') board.effects.push({ kind: 'wake', exchange: state.exchange });
  }
}
