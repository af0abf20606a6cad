/** What a caller in deliver gets next. It is the shell that asks, when the caller's stream takes more. */

import type { Tokens } from '../answer/usage.ts';
import type { AnswerHead, Caller, CallerRole, ExchangeId } from '../flight/flight.ts';
import { replayedTrailers } from '../flight/replayed-headers.ts';
import type { HeaderList } from '../request/head.ts';
import type { Board } from './board.ts';
import { isWithheld } from './fleet/withholding.ts';
import { dropCaller } from './joining.ts';
import { goOnFor } from './pacing.ts';

/** With the last piece: what the answer cost, where it says so. */
interface Told {
  readonly tokens?: Tokens;
}

export type Delivery =
  /** Nothing yet; a wake follows. */
  | { readonly kind: 'nothing' }
  | ({
      readonly kind: 'head';
      readonly head: AnswerHead;
      readonly role: CallerRole;
      /** Replayed: how long the answer is still kept. */
      readonly freshForMs: number | null;
      readonly endOfStream: boolean;
    } & Told)
  | ({ readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly endOfStream: boolean } & Told)
  /** Nothing of the answer: a comment that keeps the connection alive, between two events. */
  | { readonly kind: 'keepAlive' }
  | ({ readonly kind: 'trailers'; readonly trailers: HeaderList } & Told)
  /** The answer is whole, and the caller has all its bytes. */
  | ({ readonly kind: 'end' } & Told);

const NOTHING: Delivery = { kind: 'nothing' };

/** Takes the next piece of the answer for `exchange`. With the last piece the caller is off its flight. */
export function pull(board: Board, exchange: ExchangeId, now: number): Delivery {
  const caller = board.aboard.get(exchange);
  const state = caller?.flight.state;
  if (caller === undefined || (state?.phase !== 'answering' && state?.phase !== 'landed')) return NOTHING;
  if (isWithheld(caller.flight, board.limits)) return NOTHING;
  const { answer } = state;
  const { trailers, tokens } = state.phase === 'landed' ? state : { trailers: null, tokens: null };
  const ends = (): boolean => state.phase === 'landed' && answer.buffer.isAtEnd(caller.cursor);
  const last = <Piece extends Delivery>(piece: Piece): Piece => {
    dropCaller(board, caller, now);
    return tokens === null ? piece : { ...piece, tokens };
  };
  if (caller.state.phase === 'waiting') {
    caller.state = { phase: 'streaming', exchange };
    board.deadlines.remove(caller);
    const role = caller.role === 'leader' && !isOwner(caller) ? 'follower' : caller.role;
    const freshForMs = caller.freshUntil === null ? null : Math.max(0, caller.freshUntil - now);
    if (role === 'follower') board.effects.push({ kind: 'followerServed', exchange, waitedMs: now - caller.arrivedAt });
    const endOfStream = ends() && trailers === null;
    const piece: Delivery = { kind: 'head', head: answer.head, role, freshForMs, endOfStream };
    return endOfStream ? last(piece) : piece;
  }
  const bytes = answer.buffer.read(caller.cursor);
  const isOwed = caller.owedKeepAlive;
  caller.owedKeepAlive = false;
  if (bytes !== null) {
    goOnFor(board, caller, { answer, now });
    const endOfStream = ends() && trailers === null;
    return endOfStream ? last({ kind: 'bytes', bytes, endOfStream }) : { kind: 'bytes', bytes, endOfStream };
  }
  if (!ends()) return isOwed ? { kind: 'keepAlive' } : NOTHING;
  if (trailers === null) return last({ kind: 'end' });
  return last({ kind: 'trailers', trailers: isOwner(caller) ? trailers : replayedTrailers(trailers) });
}

/**
 * Whether the answer is one to this caller's own request. The leader of an attached flight is upstream: one in deliver that was
 * to lead was overtaken. Where another instance leads, it is nobody here.
 */
function isOwner({ role, flight }: Caller): boolean {
  return role === 'leader' && flight.leg === 'detached' && flight.fleet.role !== 'follows';
}
