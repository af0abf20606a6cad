/** What an answer cost in tokens, where it says so. Which members say it is in the endpoint's profile. */

import type { JsonPath, TokenPlaces, Usage } from '../profiles/profile.ts';
import { soleHeader, type HeaderList } from '../request/head.ts';
import { eventsNaming, isEventStream, jsonValues, memberOf } from './json-values.ts';

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
  // Most events of a long stream name no usage: only those that do are parsed.
  if (isEventStream(contentType))
    return tokensAt(places, (path) => firstNumber(eventsNaming(path.at(-1) ?? '', body), path));
  const values = jsonValues(body, contentType).values.toReversed();
  return tokensAt(places, (path) => firstNumber(values, path));
}

function tokensAt(places: TokenPlaces, read: (path: JsonPath) => number | null): Tokens {
  const { prompt, completion } = places;
  return {
    prompt: prompt === null ? null : read(prompt),
    completion: completion === null ? null : read(completion),
  };
}

/** A whole number that can be one of tokens, in the first value that holds one. */
function firstNumber(values: Iterable<unknown>, path: JsonPath): number | null {
  for (const value of values) {
    const found = path.reduce<unknown>(memberOf, value);
    if (typeof found === 'number' && Number.isSafeInteger(found) && found >= 0) return found;
  }
  return null;
}

function decimal(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
