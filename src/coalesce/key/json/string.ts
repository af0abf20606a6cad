/**
 * JSON strings: where they end, what they say, and their one canonical spelling. The bytes around them are valid UTF-8;
 * the reader has seen to that, so that a lone surrogate can only come from an escape.
 */

import type { Buffer } from 'node:buffer';
import type { ByteSink } from './byte-sink.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SOLIDUS = 0x2f;
const LOWER_U = 0x75;

/** 1 for the bytes that end a plain run: the quote, the backslash and the control characters. */
const endsRun: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

/** The character that follows the backslash → what it stands for, without `u`. */
const shortEscapes: ReadonlyMap<number, number> = new Map([
  [QUOTE, QUOTE],
  [BACKSLASH, BACKSLASH],
  [SOLIDUS, SOLIDUS],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

/** 1 for the letters of canonical escapes: of the short ones, all but the solidus. */
const isCanonicalLetter: Uint8Array = Uint8Array.from({ length: 256 }, (_, letter) =>
  shortEscapes.has(letter) && letter !== SOLIDUS ? 1 : 0,
);

/** Characters that must be escaped → their canonical escape. */
const canonicalEscapes: ReadonlyMap<number, string> = new Map([
  ...Array.from({ length: 0x20 }, (_, code): [number, string] => [code, `\\u00${code.toString(16).padStart(2, '0')}`]),
  ...[...shortEscapes]
    .filter(([, code]) => code !== SOLIDUS)
    .map(([letter, code]): [number, string] => [code, `\\${String.fromCharCode(letter)}`]),
]);

/** Offset of the first byte at or after `start` that is not plain text; the end of the bytes where all are. */
export function scanPlain(bytes: Buffer, start: number): number {
  let position = start;
  while (position < bytes.length && endsRun[bytes[position] ?? 0] === 0) position += 1;
  return position;
}

/** As `scanPlain`, for the first byte that is neither plain text nor an escape in its canonical spelling. */
export function scanCanonical(bytes: Buffer, start: number): number {
  let position = scanPlain(bytes, start);
  while (bytes[position] === BACKSLASH && isCanonicalLetter[bytes[position + 1] ?? 0] === 1)
    position = scanPlain(bytes, position + 2);
  return position;
}

/** Offset of the closing quote of the string whose first byte is at `start`; -1 where it is broken or says no Unicode text. */
export function scanString(bytes: Buffer, start: number): number {
  let position = scanPlain(bytes, start);
  while (bytes[position] === BACKSLASH) {
    const next = scanEscape(bytes, position);
    if (next === -1) return -1;
    position = scanPlain(bytes, next);
  }
  return bytes[position] === QUOTE ? position : -1;
}

/** The text of a scanned string. */
export function decodeString(bytes: Buffer, start: number, end: number): string {
  let text = '';
  let position = start;
  for (;;) {
    const run = Math.min(scanPlain(bytes, position), end);
    text += bytes.toString('utf8', position, run);
    if (run === end) return text;
    text += String.fromCodePoint(codePointAt(bytes, run));
    position = run + escapeLength(bytes, run);
  }
}

/** Writes what stands between the quotes: raw UTF-8, and escapes only where JSON demands them, each in one spelling. */
export function writeString(sink: ByteSink, bytes: Buffer, { start, end }: { start: number; end: number }): void {
  let position = start;
  while (position < end) {
    const run = scanCanonical(bytes, position);
    sink.copy(position, run);
    if (run === end) return;
    sink.text(spellCodePoint(codePointAt(bytes, run)));
    position = run + escapeLength(bytes, run);
  }
}

function spellCodePoint(code: number): string {
  return canonicalEscapes.get(code) ?? String.fromCodePoint(code);
}

/** Offset after the escape at `start`; -1 where it is none, or one half of a surrogate pair. */
function scanEscape(bytes: Buffer, start: number): number {
  if (bytes[start + 1] !== LOWER_U) return shortEscapes.has(bytes[start + 1] ?? -1) ? start + 2 : -1;
  const unit = readUnit(bytes, start);
  if (unit === -1 || isLowSurrogate(unit)) return -1;
  if (!isHighSurrogate(unit)) return start + 6;
  return isLowSurrogate(readUnit(bytes, start + 6)) ? start + 12 : -1;
}

/** What a valid escape stands for. */
function codePointAt(bytes: Buffer, start: number): number {
  const letter = bytes[start + 1] ?? -1;
  if (letter !== LOWER_U) return shortEscapes.get(letter) ?? -1;
  const unit = readUnit(bytes, start);
  if (!isHighSurrogate(unit)) return unit;
  return 0x10000 + ((unit - 0xd800) << 10) + (readUnit(bytes, start + 6) - 0xdc00);
}

function escapeLength(bytes: Buffer, start: number): number {
  if (bytes[start + 1] !== LOWER_U) return 2;
  return isHighSurrogate(readUnit(bytes, start)) ? 12 : 6;
}

/** The UTF-16 unit of `\uXXXX` at `start`; -1 where that is not what stands there. */
function readUnit(bytes: Buffer, start: number): number {
  if (bytes[start] !== BACKSLASH || bytes[start + 1] !== LOWER_U) return -1;
  let unit = 0;
  for (let offset = start + 2; offset < start + 6; offset += 1) {
    const digit = hexValue(bytes[offset] ?? 0);
    if (digit === -1) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
