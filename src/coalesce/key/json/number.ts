/**
 * JSON numbers as written: their grammar, the range that is read, and their exact decimal value. Never a double: int64
 * seeds and long decimals must stay what they are.
 */

import type { Buffer } from 'node:buffer';

const MAX_LEXEME_CHARS = 64;
/** Beyond these a reader with doubles sees infinity, or cannot tell the number from zero. */
const MAX_EXPONENT = 308;
const MIN_EXPONENT = -324;

/** With its letter, an exponent of this many characters has two digits at most: it cannot leave the range. */
const NEAR_EXPONENT_CHARS = 3;

const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;

/** ± digits × 10^exponent. `digits` has no zeros at either end, and is empty for zero. */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

/** Offset after the number that begins at `start`; -1 where there is none, or where it is out of the range that is read. */
export function scanNumber(bytes: Buffer, start: number): number {
  const integer = scanInteger(bytes, bytes[start] === MINUS ? start + 1 : start);
  if (integer === -1) return -1;
  const fraction = bytes[integer] === DOT ? scanDigits(bytes, integer + 1) : integer;
  if (fraction === -1) return -1;
  const isExponent = bytes[fraction] === 0x65 || bytes[fraction] === 0x45;
  const end = isExponent ? scanExponent(bytes, fraction + 1) : fraction;
  if (end === -1 || end - start > MAX_LEXEME_CHARS) return -1;
  const isFar = isExponent && end - fraction > NEAR_EXPONENT_CHARS;
  return isFar && !isInRange(bytes.toString('latin1', start, end)) ? -1 : end;
}

/** One spelling for all lexemes of the same exact value; the sign of zero is kept. `lexeme` is a number that was read. */
export function spellExactly(lexeme: string): string {
  // A single digit: the usual temperature.
  if (lexeme.length === 1) return lexeme;
  const { negative, digits, exponent } = readDecimal(lexeme);
  const sign = negative ? '-' : '';
  if (digits === '') return `${sign}0`;
  return exponent === 0 ? `${sign}${digits}` : `${sign}${digits}e${exponent}`;
}

export function isZero(lexeme: string): boolean {
  return readDecimal(lexeme).digits === '';
}

function readDecimal(lexeme: string): Decimal {
  const [mantissa = '', power = '0'] = lexeme.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const negative = mantissa.startsWith('-');
  const significant = (whole + fraction).replace(/^0+/, '');
  const digits = significant.replace(/0+$/, '');
  if (digits === '') return { negative, digits, exponent: 0 };
  return { negative, digits, exponent: Number(power) - fraction.length + significant.length - digits.length };
}

/** Only a lexeme with a long exponent can leave the range: 64 characters without one stay well inside. */
function isInRange(lexeme: string): boolean {
  const { digits, exponent } = readDecimal(lexeme);
  if (digits === '') return true;
  const leading = exponent + digits.length - 1;
  if (leading === MAX_EXPONENT) return digits === '1';
  return leading < MAX_EXPONENT && leading >= MIN_EXPONENT;
}

function scanInteger(bytes: Buffer, start: number): number {
  return bytes[start] === ZERO ? start + 1 : scanDigits(bytes, start);
}

function scanExponent(bytes: Buffer, start: number): number {
  const hasSign = bytes[start] === PLUS || bytes[start] === MINUS;
  return scanDigits(bytes, hasSign ? start + 1 : start);
}

/** Offset after one or more digits. */
function scanDigits(bytes: Buffer, start: number): number {
  let end = start;
  while (isDigit(bytes[end])) end += 1;
  return end === start ? -1 : end;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39;
}
