/** Changes that a fuzzer makes to bytes: some keep them nearly valid, some do not. */

import { Buffer } from 'node:buffer';

/** Yields a number from 0 up to, not including, 1. */
export type Random = () => number;

/** Longer ones are cut: what is slow on this much is slow on more. */
const MAX_BYTES = 256 * 1024;

const tokens = [
  ...'{ } [ ] , : " \\ / \n \t 0 -'.split(' '),
  ' ',
  '""',
  '{}',
  '[]',
  'null',
  'true',
  'false',
  '1e308',
  '1e-324',
  '-0.0',
  '9007199254740993',
  '1E+02',
  '"__proto__":',
  '"constructor":',
  '"stream":true,',
  '"stream":null,',
  '"Stream":true,',
  '"store":true,',
  '"\\u017ftore":false,',
  '"temperature":0,',
  '"seed":-1,',
  '"tools":[{"type":"mcp"}],',
  '"tools":[{"googleSearch":{}}],',
  '"type":"item_reference",',
  '"messages":',
  '"generationConfig":{"temperature":0},',
  '\\u0000',
  '\\ud83d',
  '\\ud83d\\ude00',
  '\\u00e9',
  '\u00e9',
  '\u{1f600}',
  '\ufeff',
].map((token) => Buffer.from(token));

const BRACE = 0x7b;

const names = [
  ...'a b 1 0 __proto__ constructor type Type role content text parts tools toolConfig toolSpec functionDeclarations'.split(
    ' ',
  ),
  ...'stream Stream store user metadata temperature top_p seed thinking options generationConfig input source'.split(
    ' ',
  ),
  '',
  '\\u0061',
  '\\ud83d\\ude00',
];

const values = [
  '0',
  '-0.0',
  '1e2',
  '"a"',
  '"function"',
  '"mcp"',
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[{"type":"x"}]',
].map((text) => Buffer.from(text));

/** One to four changes. `other` is a body to take pieces from. */
export function mutate(body: Buffer, other: Buffer, random: Random): Buffer {
  let bytes = body;
  for (let left = 1 + Math.floor(random() * 4); left > 0; left -= 1) bytes = change(bytes, other, random);
  return bytes.subarray(0, MAX_BYTES);
}

/** A repeatable source of randomness (xorshift). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

function change(bytes: Buffer, other: Buffer, random: Random): Buffer {
  if (random() < 0.4) return addMember(bytes, other, random);
  const [start, end] = range(bytes, random);
  const piece = bytes.subarray(start, end);
  switch (Math.floor(random() * 8)) {
    case 0:
      return replace(bytes, start, start + 1, Buffer.from([Math.floor(random() * 256)]));
    case 1:
      return replace(bytes, start, start, pick(tokens, random));
    case 2:
      return replace(bytes, start, end, pick(tokens, random));
    case 3:
      return replace(bytes, start, end, Buffer.alloc(0));
    case 4:
      return replace(bytes, start, end, Buffer.concat([piece, piece]));
    case 5:
      return replace(bytes, start, end, other.subarray(...range(other, random)));
    case 6:
      return replace(bytes, start, start, repeated(random() < 0.5 ? piece : pick(tokens, random), random));
    default:
      return bytes.subarray(0, end);
  }
}

/** Into some object, so that the whole stays JSON for the most part. */
function addMember(bytes: Buffer, other: Buffer, random: Random): Buffer {
  const from = Math.floor(random() * bytes.length);
  const brace = Math.max(bytes.indexOf('{', from), bytes.lastIndexOf('{', from));
  const inner = other[0] === BRACE && random() < 0.3 ? other : pick(values, random);
  const member = Buffer.concat([Buffer.from(`"${pick(names, random)}":`), inner, Buffer.from(',')]);
  return brace === -1 ? bytes : replace(bytes, brace + 1, brace + 1, member);
}

/** Most are short, some are all. */
function range(bytes: Buffer, random: Random): [start: number, end: number] {
  const start = Math.floor(random() * (bytes.length + 1));
  const size = random() < 0.7 ? random() * 16 : random() * bytes.length;
  return [start, Math.min(bytes.length, start + Math.floor(size))];
}

function repeated(piece: Buffer, random: Random): Buffer {
  const times = Math.min(2 ** Math.floor(random() * 17), Math.floor(MAX_BYTES / Math.max(1, piece.length)));
  return Buffer.concat(Array.from({ length: times }, () => piece));
}

function replace(bytes: Buffer, start: number, end: number, piece: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), piece, bytes.subarray(end)]);
}
