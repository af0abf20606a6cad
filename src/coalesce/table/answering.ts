/** How a flight's answer is recorded: head, bytes, end, or the break. Each step wakes those who wait for it. */

import { EventCounter } from '../flight/event-counter.ts';
import { ReplayBuffer } from '../flight/replay-buffer.ts';
import { headerValues, type HeaderList } from '../request/head.ts';
import type { Answer, AnswerHead, Caller, Flight, FlightId } from '../flight/flight.ts';
import { conclude, dropRequest, settle, type Board } from './board.ts';
import { breakOff, releaseCaller } from './giving-up.ts';
import { dropCaller } from './joining.ts';

/** The head of the answer came. `endOfStream`: nothing follows it. Ignored where the flight does not wait for one. */
export function answerBegan(
  board: Board,
  flightId: FlightId,
  came: { head: AnswerHead; endOfStream: boolean; now: number },
): void {
  const flight = board.flights.get(flightId);
  if (flight?.state.phase !== 'calling') return;
  const { startedAt, leader } = flight.state;
  const { head, now } = came;
  const answer: Answer = {
    head,
    buffer: new ReplayBuffer(),
    events: isEventStream(head) ? new EventCounter() : null,
    calledAt: startedAt,
    firstByteAt: now,
    lastByteAt: now,
  };
  flight.state = { phase: 'answering', startedAt, leader, answer };
  dropRequest(board, flight);
  board.effects.push({ kind: 'firstByteCame', afterMs: now - startedAt });
  board.deadlines.set(flight, nextCallDeadline(board, flight));
  if (came.endOfStream || head.contentLength === 0) land(board, flight, { trailers: null, now });
  else wakeAboard(board, flight);
}

function isEventStream(head: AnswerHead): boolean {
  return headerValues(head.headers, 'content-type').some((type) => /^\s*text\/event-stream/i.test(type));
}

/** When a running call is due: no byte for too long, too long in all, or without a caller for too long. */
export function nextCallDeadline(board: Board, flight: Flight): number {
  const { state, policy, orphanedAt } = flight;
  if (state.phase !== 'calling' && state.phase !== 'answering') return Infinity;
  const silentUntil =
    state.phase === 'calling'
      ? state.startedAt + policy.deadlines.firstByteMs
      : state.answer.lastByteAt + policy.deadlines.idleMs;
  const orphanUntil = orphanedAt === null ? Infinity : orphanedAt + board.limits.orphanGraceMs;
  return Math.min(silentUntil, state.startedAt + policy.deadlines.totalMs, orphanUntil);
}

/** More bytes of the answer came; `bytes` is given away. */
export function answerGrew(board: Board, flightId: FlightId, came: { bytes: Uint8Array; now: number }): void {
  const flight = board.flights.get(flightId);
  if (flight?.state.phase !== 'answering' || came.bytes.length === 0) return;
  const { answer } = flight.state;
  answer.buffer.append(came.bytes);
  answer.events?.push(came.bytes);
  answer.lastByteAt = came.now;
  board.replayBytes += came.bytes.length;
  holdLimits(board, flight, { answer, now: came.now });
  const { contentLength } = answer.head;
  if (contentLength !== null && answer.buffer.length >= contentLength)
    land(board, flight, { trailers: null, now: came.now });
  else wakeAboard(board, flight);
}

function holdLimits(board: Board, flight: Flight, options: { answer: Answer; now: number }): void {
  const { buffer } = options.answer;
  if (buffer.heldBytes > replayCap(board)) flight.recordsWhole = false;
  settle(board, flight, options.now);
  const cap = replayCap(board);
  if (buffer.heldBytes > cap) dropLaggards(board, flight, { ...options, cap });
}

/** What one flight may hold: its cap, and once all of them together hold too much, its even share of what they may. */
function replayCap({ limits, replayBytes, flights }: Board): number {
  const { maxReplayBytes, maxReplayBytesTotal } = limits;
  return replayBytes > maxReplayBytesTotal
    ? Math.min(maxReplayBytes, maxReplayBytesTotal / flights.size)
    : maxReplayBytes;
}

/** A reader that has fallen behind by more than the cap would hold the memory of all: it is let go. */
function dropLaggards(board: Board, flight: Flight, options: { answer: Answer; now: number; cap: number }): void {
  const { answer, now, cap } = options;
  for (const caller of flight.callers) {
    if (answer.buffer.length - caller.cursor.offset > cap) dropLaggard(board, caller, now);
  }
}

function dropLaggard(board: Board, caller: Caller, now: number): void {
  const { state } = caller;
  if (state.phase === 'streaming') board.effects.push({ kind: 'cut', exchange: state.exchange, ending: 'cut' });
  releaseCaller(board, caller, 'limit');
  dropCaller(board, caller, now);
}

/** The answer ended as its upstream meant it to. Shorter than its head promised, it counts as cut. */
export function answerEnded(
  board: Board,
  flightId: FlightId,
  came: { trailers: HeaderList | null; now: number },
): void {
  const flight = board.flights.get(flightId);
  if (flight?.state.phase !== 'answering') return;
  const { head, buffer } = flight.state.answer;
  if (head.contentLength !== null && buffer.length < head.contentLength) answerBroke(board, flightId, came.now);
  else land(board, flight, came);
}

function land(board: Board, flight: Flight, came: { trailers: HeaderList | null; now: number }): void {
  if (flight.state.phase !== 'answering') return;
  const { answer, startedAt, leader } = flight.state;
  if (leader !== null) board.leaders.delete(leader);
  flight.state = { phase: 'landed', answer, trailers: came.trailers };
  board.deadlines.remove(flight);
  board.effects.push({ kind: 'answerCompleted', afterMs: came.now - startedAt });
  const failed = Number(answer.head.status) >= 400;
  conclude(board, flight, { ending: failed ? 'failed_status' : 'landed', now: came.now });
  wakeAboard(board, flight);
  settle(board, flight, came.now);
}

/** Detached: the call failed. Before the answer's head its callers go upstream by themselves; after it they are cut. */
export function answerBroke(board: Board, flightId: FlightId, now: number): void {
  const flight = board.flights.get(flightId);
  if (flight === undefined || flight.ending !== null) return;
  const begun = flight.state.phase === 'answering';
  breakOff(board, flight, {
    ending: begun ? 'cut' : 'failed_connect',
    state: { phase: 'releasing', reason: 'egress_down' },
    now,
  });
}

function wakeAboard(board: Board, flight: Flight): void {
  for (const { state } of flight.callers) {
    if (state.phase !== 'ticketed') board.effects.push({ kind: 'wake', exchange: state.exchange });
  }
}
