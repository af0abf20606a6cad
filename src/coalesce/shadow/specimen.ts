/** An answer that is captured to be compared: its bytes while they come, and what is left of them at its end. */

import { fingerprint, isReadable, type Fingerprint } from '../answer/assembled.ts';
import { decodedBody } from '../answer/content-coding.ts';
import { tokensOf, type Tokens } from '../answer/usage.ts';
import type { AnswerHead } from '../flight/flight.ts';
import type { Usage } from '../profiles/profile.ts';
import { headerValues } from '../request/head.ts';

/**
 * Why an answer cannot be compared: it broke off or its caller left, it is too large, it is no text that can be taken apart,
 * or its status tells of the moment (408, 429, 5xx) and not of the question.
 */
export type Unfit = 'unfinished' | 'too_large' | 'unreadable' | 'status';

export type Finding =
  | { readonly kind: 'fit'; readonly fingerprint: Fingerprint; readonly tokens: Tokens }
  | { readonly kind: 'unfit'; readonly why: Unfit };

export class Specimen {
  readonly #limitBytes: number;
  #head: AnswerHead | null = null;
  #chunks: Uint8Array[] = [];
  #heldBytes = 0;
  #why: Unfit = 'unfinished';

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  begin(head: AnswerHead): void {
    const why = objectionTo(head);
    if (why === null) this.#head = head;
    else this.#why = why;
  }

  /** Takes bytes that do not change afterwards, while there is `room` for them besides. */
  grow(bytes: Uint8Array, room: number): void {
    if (this.#head === null) return;
    this.#chunks.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#limitBytes || bytes.length > room) this.#giveUp('too_large');
  }

  #giveUp(why: Unfit): void {
    this.#head = null;
    this.#why = why;
    this.#chunks = [];
    this.#heldBytes = 0;
  }

  /** The answer is whole: what it says. */
  finish(usage: Usage): Finding {
    const head = this.#head;
    const body = head === null ? null : decodedBody(Buffer.concat(this.#chunks), codingOf(head), this.#limitBytes);
    if (head === null || body === null) return { kind: 'unfit', why: head === null ? this.#why : 'unreadable' };
    const { status, headers } = head;
    const contentType = typeOf(head);
    const tokens = tokensOf({ headers, contentType, body }, usage);
    return { kind: 'fit', fingerprint: fingerprint({ status, contentType, body }), tokens };
  }
}

function objectionTo(head: AnswerHead): Unfit | null {
  const status = Number(head.status);
  if (status === 408 || status === 429 || status >= 500) return 'status';
  return isReadable(typeOf(head)) ? null : 'unreadable';
}

function typeOf({ headers }: AnswerHead): string {
  return headerValues(headers, 'content-type').join(', ');
}

/** Several codings are more than anybody uses. */
function codingOf({ headers }: AnswerHead): string {
  return headerValues(headers, 'content-encoding').join(', ');
}
