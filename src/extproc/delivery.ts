/** What a caller in deliver is sent: the pieces of a flight's answer as a `StreamedImmediateResponse`. */

import type { FlightId } from '../coalesce/flight/flight.ts';
import type { Delivery } from '../coalesce/table/delivering.ts';
import type { Step } from './exchange-phase.ts';
import { callerHeaders } from './headers.ts';
import { usageMetadata } from './usage-metadata.ts';
import type { Reply } from './wire.ts';

/** A comment of an event stream (HTML, section 9.2.6), with a blank line for readers that split at those. */
const COMMENT: Uint8Array = Buffer.from(': keep-alive\n\n');

/** Sends one piece. After a piece that is not the last, the next is pulled. */
export function deliver(at: { flight: FlightId }, piece: Exclude<Delivery, { kind: 'nothing' }>): Step {
  const { reply: said, last } = encode(piece);
  const tokens = 'tokens' in piece ? piece.tokens : undefined;
  const reply = tokens === undefined ? said : { ...said, ...usageMetadata(tokens) };
  return last
    ? { phase: { phase: 'over', ending: 'followed' }, commands: [{ kind: 'reply', reply }, { kind: 'finish' }] }
    : { phase: { phase: 'streaming', flight: at.flight }, commands: [{ kind: 'reply', reply }, { kind: 'pull' }] };
}

function encode(piece: Exclude<Delivery, { kind: 'nothing' }>): { reply: Reply; last: boolean } {
  switch (piece.kind) {
    case 'head': {
      const { head, endOfStream } = piece;
      const headers = callerHeaders(head, piece);
      return { reply: { kind: 'streamHead', status: head.status, headers, endOfStream }, last: endOfStream };
    }
    case 'bytes':
      return {
        reply: { kind: 'streamBody', bytes: piece.bytes, endOfStream: piece.endOfStream },
        last: piece.endOfStream,
      };
    case 'keepAlive':
      return { reply: { kind: 'streamBody', bytes: COMMENT, endOfStream: false }, last: false };
    case 'trailers':
      return { reply: { kind: 'streamTrailers', trailers: piece.trailers }, last: true };
    case 'end':
      return { reply: { kind: 'streamBody', bytes: new Uint8Array(0), endOfStream: true }, last: true };
  }
}
