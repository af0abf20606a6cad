/**
 * The strict JSON reader: what it reads is what JSON.parse reads, and it refuses what two readers could take for two things.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kinds, type JsonDocument, type JsonNode } from '../../src/coalesce/key/json/document.ts';
import { isZero, spellExactly } from '../../src/coalesce/key/json/number.ts';
import { readJson, type JsonRefusal } from '../../src/coalesce/key/json/reader.ts';
import { jsonInRange } from '../support/json-spelling.ts';

/** The document as JSON.parse would give it; numbers become doubles. */
function toPlain(document: JsonDocument, node: JsonNode): unknown {
  switch (document.kind(node)) {
    case kinds.null:
      return null;
    case kinds.true:
      return true;
    case kinds.false:
      return false;
    case kinds.number:
      return Number(document.lexeme(node));
    case kinds.plainString:
    case kinds.canonicalString:
    case kinds.escapedString:
      return document.text(node);
    case kinds.array:
      return document.items(node).map((item) => toPlain(document, item));
    case kinds.object:
      return Object.fromEntries(
        document.members(node).map(({ name, value }) => [document.text(name), toPlain(document, value)]),
      );
  }
}

function read(text: string | Uint8Array): unknown {
  const reading = readJson(typeof text === 'string' ? Buffer.from(text) : text);
  return reading.kind === 'refused' ? reading.why : toPlain(reading.document, reading.document.root);
}

function lexemeOf(text: string): string {
  const reading = readJson(Buffer.from(`{"v":${text}}`));
  if (reading.kind === 'refused') return reading.why;
  const [member] = reading.document.members(reading.document.root);
  return member === undefined ? '' : reading.document.lexeme(member.value);
}

const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

describe('the JSON reader', () => {
  it('reads what JSON.parse reads, where nothing is lost', () => {
    fc.assert(
      fc.property(jsonInRange(4), fc.nat(3), (value, indent) => {
        const text = JSON.stringify({ value }, null, indent);
        expect(read(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('reads nothing that JSON.parse refuses, nor as something else', () => {
    const token = fc.constantFrom(
      ...'{}[],:"\\',
      '"a"',
      '"b":',
      '1',
      '-',
      '0',
      '.5',
      'e1',
      'true',
      'null',
      ' ',
      '\n',
      '\u00e9',
      '\\u0041',
      '\\ud83d',
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), fc.boolean(), (tokens, isMember) => {
        const text = isMember ? `{"m":${tokens.join('')}}` : `{${tokens.join('')}}`;
        const result = read(text);
        if (typeof result !== 'string') expect(result).toEqual(JSON.parse(text));
      }),
      { numRuns: 3000 },
    );
  });

  it.each<[title: string, text: string, why: JsonRefusal]>([
    ['no text', '', 'not_json'],
    ['whitespace alone', ' \n', 'not_json'],
    ['a root that is no object', '[1]', 'not_an_object'],
    ['a byte order mark', '\ufeff{}', 'not_an_object'],
    ['trailing data', '{} {}', 'not_json'],
    ['a trailing comma', '{"a":1,}', 'not_json'],
    ['a trailing comma in an array', '{"a":[1,]}', 'bad_number'],
    ['no comma', '{"a":1 "b":2}', 'not_json'],
    ['brackets that do not match', '{"a":[1}}', 'not_json'],
    ['a cut text', '{"a":[1', 'not_json'],
    ['a cut string', '{"a":"x', 'bad_string'],
    ['a comment', '{/**/}', 'not_json'],
    ['a name without quotes', '{a:1}', 'not_json'],
    ['half a literal', '{"a":nul}', 'not_json'],
    ['NaN', '{"a":NaN}', 'bad_number'],
    ['-Infinity', '{"a":-Infinity}', 'bad_number'],
    ['a leading zero', '{"a":01}', 'not_json'],
    ['a plus sign', '{"a":+1}', 'bad_number'],
    ['a bare fraction', '{"a":.5}', 'bad_number'],
    ['a bare point', '{"a":1.}', 'bad_number'],
    ['a bare exponent', '{"a":1e}', 'bad_number'],
    ['a number above the range', '{"a":1.1e308}', 'bad_number'],
    ['a number below the range', '{"a":9e-325}', 'bad_number'],
    ['an exponent bomb', '{"a":1e999999999999}', 'bad_number'],
    ['a number of 65 characters', `{"a":${'1'.repeat(65)}}`, 'bad_number'],
    ['a control character', '{"a":"\t"}', 'bad_string'],
    ['an unknown escape', '{"a":"\\x"}', 'bad_string'],
    ['a short escape', '{"a":"\\u12"}', 'bad_string'],
    ['a lone high surrogate', '{"a":"\\ud83d"}', 'bad_string'],
    ['a lone low surrogate', '{"a":"\\ude00"}', 'bad_string'],
    ['two high surrogates', '{"a":"\\ud83d\\ud83d"}', 'bad_string'],
    ['a lone surrogate in a name', '{"\\ud83d":1}', 'bad_string'],
    ['a name twice', '{"a":1,"a":1}', 'duplicate_name'],
    ['a name twice by escape', '{"a":1,"\\u0061":2}', 'duplicate_name'],
    ['a name twice at depth', '{"x":[{"y":{"a":1,"b":2,"a":3}}]}', 'duplicate_name'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}', 'duplicate_name'],
    ['an empty name twice', '{"":1,"":2}', 'duplicate_name'],
    ['containers 129 deep', nested(129), 'too_deep'],
    ['containers 100,000 deep', nested(100_000), 'too_deep'],
  ])('refuses %s', (_, text, why) => {
    expect(read(text)).toBe(why);
  });

  it.each([
    ['overlong UTF-8', [0xc0, 0xaf]],
    ['encoded surrogates', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
  ])('refuses %s', (_, bytes) => {
    expect(read(Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]))).toBe('not_utf8');
  });

  it('reads containers 128 deep', () => {
    expect(read(nested(128))).toEqual(JSON.parse(nested(128)));
  });

  it('refuses a name that comes twice among many', () => {
    const members = Array.from({ length: 100 }, (_, index) => `"k${index}":0`);
    expect(read(`{${members.join(',')}}`)).toHaveProperty('k99', 0);
    expect(read(`{${[...members, '"k57":0'].join(',')}}`)).toBe('duplicate_name');
  });

  it('keeps __proto__, empty and integer-like names as ordinary members, in order', () => {
    const reading = readJson(Buffer.from('{"b":1,"__proto__":2,"":3,"1":4,"constructor":5}'));
    if (reading.kind === 'refused') throw new Error(reading.why);
    const { document } = reading;
    expect(document.members(document.root).map(({ name }) => document.text(name))).toEqual([
      'b',
      '__proto__',
      '',
      '1',
      'constructor',
    ]);
  });

  it.each(['9007199254740993', '-9223372036854775808', '1E+2', '0.10', '-0.0', '1e308', '1e-324', '0e999'])(
    'keeps %s as written',
    (lexeme) => {
      expect(lexemeOf(lexeme)).toBe(lexeme);
    },
  );

  it('reads an object of 300,000 members without comparing each with each', () => {
    const text = `{"a":{${Array.from({ length: 300_000 }, (_, index) => `"${index}":0`).join(',')}}}`;
    expect(readJson(Buffer.from(text)).kind).toBe('document');
  });

  it('leaves bytes outside its view alone', () => {
    const whole = Buffer.from('xx{"a":1}yy');
    expect(read(new Uint8Array(whole.buffer, whole.byteOffset + 2, 7))).toEqual({ a: 1 });
  });
});

describe('the exact value of a number', () => {
  it.each([
    ['0', '0.0', '0e5', '0E-3', '0.000'],
    ['-0', '-0.0', '-0e1'],
    ['1', '1.0', '1e0', '10e-1', '0.1e1'],
    ['0.9', '0.90', '9e-1', '9E-01', '90e-2'],
    ['1500', '1.5e3', '15e2', '1500.00'],
  ])('is spelled alike for %s and %s', (...lexemes) => {
    expect(new Set(lexemes.map(spellExactly)).size).toBe(1);
  });

  it.each([
    ['0', '-0'],
    ['0.7', '0.70000001'],
    ['0.1', '0.10000000000000001'],
    ['1', '10'],
    ['0', '1e-324'],
    ['9007199254740993', '9007199254740992'],
  ])('is spelled differently for %s and %s', (left, right) => {
    expect(spellExactly(left)).not.toBe(spellExactly(right));
  });

  it('is the same number in its own spelling', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -1e300, max: 1e300 }), (value) => {
        const lexeme = Object.is(value, -0) ? '-0' : String(value);
        expect(Object.is(Number(spellExactly(lexeme)), value)).toBe(true);
      }),
    );
  });

  it('is zero only where it is exactly zero', () => {
    expect(['0', '-0', '0.0', '0e9'].every(isZero)).toBe(true);
    expect(['1e-324', '0.0001', '1'].some(isZero)).toBe(false);
  });
});
