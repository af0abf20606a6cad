/** What an answer cost in tokens, where it says so. Which members say it is in the endpoint's profile. */

import type { JsonPath, TokenPlaces, Usage } from '../profiles/profile.ts';
import { soleHeader, type HeaderList } from '../request/head.ts';
import { isEventStream, jsonValues, memberOf } from './json-values.ts';

/** Null: the answer does not say. */
export interface Tokens {
  readonly prompt: number | null;
  readonly completion: number | null;
}

const unknownTokens: Tokens = { prompt: null, completion: null };

/** `body` may be the start and the end of a stream of events only. */
export function tokensOf(answer: { headers: HeaderList; contentType: string; body: Uint8Array }, usage: Usage): Tokens {
  const { headers, contentType, body } = answer;
  const { answer: whole, stream } = usage;
  const places = isEventStream(contentType) ? stream : (whole ?? stream);
  if (places === null) return unknownTokens;
  if (places.in === 'headers') return tokensAt(places, (path) => decimal(soleHeader(headers, path[0] ?? '')));
  const { values } = jsonValues(body, contentType);
  return tokensAt(places, (path) => lastNumber(values, path));
}

function tokensAt(places: TokenPlaces, read: (path: JsonPath) => number | null): Tokens {
  const { prompt, completion } = places;
  return {
    prompt: prompt === null ? null : read(prompt),
    completion: completion === null ? null : read(completion),
  };
}

/** A whole number that can be one of tokens, in the last value that holds one. */
function lastNumber(values: readonly unknown[], path: JsonPath): number | null {
  for (let index = values.length - 1; index >= 0; index -= 1) {
    const found = path.reduce<unknown>(memberOf, values[index]);
    if (typeof found === 'number' && Number.isSafeInteger(found) && found >= 0) return found;
  }
  return null;
}

function decimal(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
