/**
 * What an answer cost, by the usage that it tells of itself: each of its callers is told, and followers did not cost it again.
 */

import { tokensOf, type Tokens } from '../answer/usage.ts';
import type { Answer, Flight } from '../flight/flight.ts';
import { headerValues } from '../request/head.ts';
import type { Board } from './board.ts';

/** An answer that is larger is not looked through. */
const LARGEST_WHOLE = 1024 * 1024;

/** Of a whole answer, before anything of it is dropped; null where it tells nothing. */
export function costOf({ usage }: Flight, answer: Answer): Tokens | null {
  const body = bodyOf(answer);
  if (body === null) return null;
  const { headers } = answer.head;
  const contentType = headerValues(headers, 'content-type').join(', ');
  const tokens = tokensOf({ headers, contentType, body }, usage);
  return tokens.prompt === null && tokens.completion === null ? null : tokens;
}

/** Once for each follower. */
export function tellTokensSaved(board: Board, flight: Flight, { prompt, completion }: Tokens): void {
  // Where another instance leads, all callers here are followers.
  const followers = flight.followers + (flight.fleet.role === 'follows' ? 1 : 0);
  if (followers === 0) return;
  board.effects.push({
    kind: 'tokensSaved',
    model: flight.model,
    prompt: (prompt ?? 0) * followers,
    completion: (completion ?? 0) * followers,
  });
}

function bodyOf({ buffer, edges }: Answer): Uint8Array | null {
  if (edges !== null) return edges.bytes();
  const cursor = buffer.length > LARGEST_WHOLE ? null : buffer.openCursor();
  if (cursor === null) return null;
  const chunks: Uint8Array[] = [];
  for (let bytes = buffer.read(cursor); bytes !== null; bytes = buffer.read(cursor)) chunks.push(bytes);
  return Buffer.concat(chunks);
}
