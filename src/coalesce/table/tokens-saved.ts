/** What followers did not cost: the usage that an answer tells of itself, once for each of them. */

import { tokensOf } from '../answer/usage.ts';
import type { Answer, Flight } from '../flight/flight.ts';
import { headerValues } from '../request/head.ts';
import type { Board } from './board.ts';

/** An answer that is larger is not looked through. */
const LARGEST_WHOLE = 1024 * 1024;

/** For a whole answer, before anything of it is dropped. Nothing where it tells nothing. */
export function tellTokensSaved(board: Board, { usage, followers, model }: Flight, answer: Answer): void {
  const body = followers === 0 ? null : bodyOf(answer);
  if (body === null) return;
  const { headers } = answer.head;
  const contentType = headerValues(headers, 'content-type').join(', ');
  const { prompt, completion } = tokensOf({ headers, contentType, body }, usage);
  if (prompt === null && completion === null) return;
  board.effects.push({
    kind: 'tokensSaved',
    model,
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
