/**
 * How a flight is given up without a whole answer: callers with bytes are cut, the others are released one after the
 * other, or get an answer of our own. One that comes to deliver after that fares like those that waited.
 */

import type { FlightEnding } from '../flight/endings.ts';
import { waitingCallers, type Caller, type Flight, type FlightState, type ReleaseReason } from '../flight/flight.ts';
import { shedReasons } from '../request/outcomes.ts';
import { conclude, removeCaller, settle, type Board } from './board.ts';
import type { OwnAnswer } from './effects.ts';

type GivenUp = Extract<FlightState, { phase: 'releasing' | 'refusing' }>;

/** Ends a flight that gives no whole answer. A running capture stops; a running call is cancelled. */
export function breakOff(
  board: Board,
  flight: Flight,
  options: { ending: FlightEnding; state: GivenUp; now: number },
): void {
  stopCall(board, flight);
  cutStreaming(board, flight, options.ending);
  conclude(board, flight, options);
  if (flight.state.phase === 'answering') board.replayBytes -= flight.state.answer.buffer.clear();
  flight.state = options.state;
  board.deadlines.remove(flight);
  letGo(board, flight, options.now);
}

/** Stops what runs for a flight that will not use it: the capture of its leader, or its own call. Another instance's runs on. */
export function stopCall(board: Board, flight: Flight): void {
  const { state, fleet } = flight;
  if ((state.phase !== 'calling' && state.phase !== 'answering') || fleet.role === 'follows') return;
  if (state.leader === null) {
    board.effects.push({ kind: 'cancelCall', flight: flight.id });
    return;
  }
  if (!board.leaders.delete(state.leader)) return;
  board.effects.push({ kind: 'stopCapture', exchange: state.leader });
}

/** Callers that have bytes get no more. */
export function cutStreaming(board: Board, flight: Flight, ending: FlightEnding): void {
  for (const caller of flight.callers) {
    if (caller.state.phase !== 'streaming') continue;
    board.effects.push({ kind: 'cut', exchange: caller.state.exchange, ending });
    removeCaller(board, caller);
  }
}

/** Lets the waiting callers of a flight that was given up go, those whose turn has come. */
export function letGo(board: Board, flight: Flight, now: number): void {
  const { state } = flight;
  if (state.phase === 'releasing') releaseNext(board, flight, { reason: state.reason, now });
  else if (state.phase === 'refusing')
    for (const caller of waitingCallers(flight)) refuseCaller(board, caller, { reason: state.reason, now });
  settle(board, flight, now);
}

function releaseNext(board: Board, flight: Flight, options: { reason: ReleaseReason; now: number }): void {
  const { reason, now } = options;
  const [next, ...others] = waitingCallers(flight);
  if (next === undefined) return;
  if (board.pace.nextTurn(flight.key, now) <= now) {
    board.pace.takeTurn(flight.key, now);
    releaseCaller(board, next, reason);
    if (others.length === 0) return;
  }
  board.deadlines.set(flight, board.pace.nextTurn(flight.key, now));
}

/** Sends one waiting caller upstream by itself and takes it off its flight. */
export function releaseCaller(board: Board, caller: Caller, reason: ReleaseReason): void {
  if (caller.state.phase !== 'waiting') return;
  const { exchange } = caller.state;
  removeCaller(board, caller);
  board.effects.push({ kind: 'release', exchange, reason }, { kind: 'upstreamCalled' });
}

/** Gives one waiting caller an answer of our own and takes it off its flight. */
function refuseCaller(board: Board, caller: Caller, refusal: { reason: OwnAnswer['reason']; now: number }): void {
  if (caller.state.phase !== 'waiting') return;
  const { reason, now } = refusal;
  const { exchange } = caller.state;
  const { errorShape } = caller.flight;
  const shed = shedReasons.find((word) => word === reason);
  removeCaller(board, caller);
  const answer: OwnAnswer =
    shed === undefined
      ? { status: 504, reason, errorShape, retryAfterSeconds: null }
      : { status: 429, reason, errorShape, retryAfterSeconds: board.admission.retryAfterSeconds(now) };
  board.effects.push({ kind: 'refuse', exchange, answer });
  if (shed !== undefined) board.effects.push({ kind: 'shed', reason: shed });
}
