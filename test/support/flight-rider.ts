/** An exchange of the model, and how it takes an answer: each piece is held against what the upstream sent. */

import type { ExchangeId, FlightId } from '../../src/coalesce/flight/flight.ts';
import type { Delivery } from '../../src/coalesce/table/delivering.ts';
import type { FlightDeck } from './flight-deck.ts';
import type { Judge } from './flight-judge.ts';
import { count, type Tally } from './flight-tally.ts';

/** An exchange that the table knows as a caller in deliver or as an attached leader. */
export interface Rider {
  readonly exchange: ExchangeId;
  /** What it asks for, as its tenant: a path. */
  readonly question: string;
  /** It pulls only when the schedule says so. */
  readonly slow: boolean;
  role: 'caller' | 'leader';
  /** It was woken, and has not been told `nothing` since. */
  woken: boolean;
  /** Whose answer it gets; null before the head. */
  source: FlightId | null;
  /** How many bytes of it. */
  got: number;
  takesComments: boolean;
}

/** A call that runs, here or in another instance whose answer is followed here, and what it has sent. */
export interface Call {
  readonly flight: FlightId;
  /** The exchange that carries it, in the attached leg. */
  readonly leader: ExchangeId | null;
  readonly question: string;
  readonly isAfar: boolean;
  phase: 'silent' | 'answering';
  length: number | null;
  /** Nothing more of its answer is read for now. */
  held: boolean;
}

/** What the upstream sent for a flight, over all its calls that the table listened to. */
export interface Sent {
  readonly question: string;
  text: string;
  whole: boolean;
}

interface Bar {
  readonly deck: FlightDeck;
  readonly judge: Judge;
  readonly tally: Tally;
  readonly sent: ReadonlyMap<FlightId, Sent>;
}

/** Takes all that is there for a rider. `over`: it has had the end of its answer. */
export function drink(rider: Rider, bar: Bar): 'waits' | 'over' {
  for (;;) {
    const piece = bar.deck.pull(rider.exchange);
    if (piece.kind === 'nothing') {
      rider.woken = false;
      return 'waits';
    }
    if (takeIn(rider, piece, bar)) {
      count(bar.tally, 'whole answers given to callers');
      return 'over';
    }
  }
}

/** Whether it is the last piece. */
function takeIn(rider: Rider, piece: Exclude<Delivery, { kind: 'nothing' }>, bar: Bar): boolean {
  const { judge, tally } = bar;
  if (piece.kind === 'head') beginAnswer(rider, piece, bar);
  else judge.demand('prefix', rider.source !== null, 'the head comes first');
  const sent = rider.source === null ? undefined : bar.sent.get(rider.source);
  if (piece.kind === 'bytes') takeBytes(rider, piece.bytes, { judge, sent });
  if (piece.kind === 'keepAlive') {
    count(tally, 'comments');
    const isBetween = rider.takesComments && rider.got % 16 === 0;
    judge.demand('prefix', isBetween, 'a comment stands between events');
    return false;
  }
  const isLast = piece.kind === 'end' || piece.kind === 'trailers' || piece.endOfStream;
  const isWhole = sent?.whole === true && sent.text.length === rider.got;
  judge.demand('prefix', !isLast || isWhole, 'a clean end comes after the whole answer only');
  return isLast;
}

function beginAnswer(rider: Rider, { head }: Extract<Delivery, { kind: 'head' }>, { judge, sent }: Bar): void {
  judge.demand('prefix', rider.source === null, 'one head');
  rider.source = (head.headers[0]?.[1] ?? '') as FlightId;
  rider.takesComments = head.headers[1]?.[1] === 'text/event-stream' && head.contentLength === null;
  const isItsOwn = sent.get(rider.source)?.question === rider.question;
  judge.demand('own key', isItsOwn, 'an answer reaches those who asked for it');
}

function takeBytes(rider: Rider, bytes: Uint8Array, { judge, sent }: { judge: Judge; sent: Sent | undefined }): void {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const continues = sent?.text.startsWith(text, rider.got) === true;
  judge.demand('prefix', continues, 'what a caller got is a prefix of its flight’s answer');
  rider.got += text.length;
}
