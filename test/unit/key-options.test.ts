/** What a policy changes about the key: what it adds, leaves out and normalises, and what stays whatever it says. */

import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseNoncePattern } from '../../src/coalesce/key/options/nonce-pattern.ts';
import { stripNonces } from '../../src/coalesce/key/options/nonce-stripper.ts';
import { normalizer } from '../../src/coalesce/key/options/normalize.ts';
import type { KeyOptions, Normalize } from '../../src/coalesce/request/policy.ts';
import { keyOrReason, sampleBody, sampleHead, samplePolicy, withHeaders } from '../support/request-samples.ts';

const noNormalising: Normalize = { collapseWhitespace: false, stripTimestamps: false, stripNonces: [] };

function policyWith(key: Partial<KeyOptions>): ReturnType<typeof samplePolicy> {
  return samplePolicy({
    tools: 'allow',
    key: { include: [], ignoreHeaders: [], ignoreBody: [], normalize: noNormalising, ...key },
  });
}

function keyOf(body: unknown, key: Partial<KeyOptions>, head = sampleHead()): string {
  const result = keyOrReason(head, body, policyWith(key));
  expect(result).toMatch(/^[0-9a-f]{64}$/);
  return result;
}

interface Vector {
  readonly name: string;
  readonly expect: 'same' | 'different';
  readonly patterns?: readonly string[];
  readonly a: Side;
  readonly b: Side;
}

type Side = { readonly text: string } | { readonly members: Readonly<Record<string, unknown>> };

function bodyOf(side: Side): unknown {
  if ('members' in side) return { ...sampleBody, ...side.members };
  return { ...sampleBody, messages: [{ role: 'user', content: side.text }] };
}

function vectors(name: string): Vector[] {
  const file = new URL(`../data/normalisers/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as Vector[];
}

const normalisers: readonly [name: string, normalize: (vector: Vector) => Normalize][] = [
  ['collapse_whitespace', () => ({ ...noNormalising, collapseWhitespace: true })],
  ['strip_timestamps', () => ({ ...noNormalising, stripTimestamps: true })],
  ['strip_nonces', ({ patterns = [] }) => ({ ...noNormalising, stripNonces: patterns })],
];

describe.each(normalisers)('%s', (name, normalizeFor) => {
  it.each(vectors(name))('$name: $expect', (vector) => {
    const normalize = normalizeFor(vector);
    const [a, b] = [vector.a, vector.b].map((side) => keyOf(bodyOf(side), { normalize }));
    expect(a === b ? 'same' : 'different').toBe(vector.expect);
  });

  it('has ten vectors and more, all of which differ without it', () => {
    expect(vectors(name).length).toBeGreaterThanOrEqual(10);
    for (const { a, b } of vectors(name)) expect(keyOf(bodyOf(a), {})).not.toBe(keyOf(bodyOf(b), {}));
  });
});

describe('all normalisers together', () => {
  const all: Normalize = { collapseWhitespace: true, stripTimestamps: true, stripNonces: ['r-[0-9]{4}'] };

  it('find a timestamp with a space in it before spaces are collapsed', () => {
    const text = normalizer(all);
    expect(text?.('at 2026-11-30 10:00:00Z  by r-1234')).toBe(text?.('at 2027-01-01T00:00:00Z by r-9999'));
  });

  it('reach the texts of every kind of body', () => {
    const heads = {
      anthropic: sampleHead({ path: '/v1/messages' }),
      gemini: sampleHead({ path: '/v1beta/models/m:generateContent' }),
      responses: sampleHead({ path: '/v1/responses' }),
    };
    const bodies = (text: string): [keyof typeof heads, unknown][] => [
      [
        'anthropic',
        {
          model: 'm',
          max_tokens: 1,
          temperature: 0,
          system: text,
          messages: [{ role: 'user', content: [{ type: 'text', text }] }],
        },
      ],
      [
        'gemini',
        {
          contents: [{ role: 'user', parts: [{ text }] }],
          systemInstruction: { parts: [{ text }] },
          generationConfig: { temperature: 0 },
        },
      ],
      ['responses', { model: 'm', store: false, temperature: 0, instructions: text, input: text }],
      [
        'responses',
        {
          model: 'm',
          store: false,
          temperature: 0,
          input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
        },
      ],
    ];
    const keys = (text: string): string[] =>
      bodies(text).map(([kind, body]) => keyOf(body, { normalize: all }, heads[kind]));
    expect(keys('a  r-1234')).toEqual(keys('a r-5678'));
  });

  it('leave what is no text of a message alone in every kind of body', () => {
    const head = sampleHead({ path: '/v1/messages' });
    const body = (text: string): unknown => ({
      ...{ model: 'm', max_tokens: 1, temperature: 0 },
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'i', name: 'n', input: { text } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'i', content: 'x' }] },
      ],
    });
    expect(keyOf(body('a  b'), { normalize: all }, head)).not.toBe(keyOf(body('a b'), { normalize: all }, head));
  });
});

describe('a nonce pattern', () => {
  it('strips what the regular expression of the same spelling strips', () => {
    const spellings = ['ab[0-9]{2,3}', '[a-c]{4}', 'a[0-9b]{3,5}c', '\\d{2}-\\d{2}', '[^a]{4,6}a'];
    fc.assert(
      fc.property(
        fc.constantFrom(...spellings),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '2', '-'), maxLength: 40 }),
        (spelling, text) => {
          const pattern = parseNoncePattern(spelling);
          if (typeof pattern === 'string') throw new Error(pattern);
          expect(stripNonces([pattern], '_')(text)).toBe(text.replace(new RegExp(spelling, 'g'), '_'));
        },
      ),
    );
  });

  it('looks at no character more often than it has steps, whatever the text', () => {
    const pattern = parseNoncePattern('[a-f]{8,100}![a-f]{8,100}!');
    if (typeof pattern === 'string') throw new Error(pattern);
    let looks = 0;
    const counting = pattern.map((step) => ({
      ...step,
      set: new Proxy(step.set, {
        get: (set, code) => {
          looks += 1;
          return Reflect.get(set, code) as unknown;
        },
      }),
    }));
    const text = `${'a'.repeat(5000)}!`.repeat(4);
    stripNonces([counting], '_')(text);
    expect(looks).toBeLessThanOrEqual(text.length * (pattern.length + 1));
  });
});

describe('what a policy leaves out', () => {
  it('is a header of exactly that name', () => {
    const ignoreHeaders = ['x-noise'];
    const base = keyOf(sampleBody, { ignoreHeaders });
    expect(keyOf(sampleBody, { ignoreHeaders }, withHeaders(['x-noise', '1'], ['x-noise', '2']))).toBe(base);
    expect(keyOf(sampleBody, { ignoreHeaders }, withHeaders(['x-noises', '1']))).not.toBe(base);
  });

  it.each([
    ['/metadata', { metadata: { a: 1 } }],
    ['/metadata/a', { metadata: { a: 1, b: 2 } }, { metadata: { a: [3], b: 2 } }],
    ['/metadata/*', { metadata: { a: 1 } }, { metadata: {} }],
    ['/metadata/*/at', { metadata: { a: { at: 1 }, b: { at: 2 } } }, { metadata: { a: { at: 3 }, b: {} } }],
    ['/stop/0', { stop: ['a', 'b'] }, { stop: ['c', 'b'] }],
    ['/stop/*', { stop: ['a', 'b'] }, { stop: [] }],
    ['/a~1b/c~0d', { 'a/b': { 'c~d': 1 } }, { 'a/b': { 'c~d': 2 } }],
    ['/stream_options/include_usage', { stream_options: { include_usage: true } }, { stream_options: {} }],
    ['/__proto__', JSON.parse('{"__proto__": 1}') as Record<string, unknown>],
  ])('is what %s names', (pointer, left: Record<string, unknown>, right: Record<string, unknown> = {}) => {
    const [a, b] = [left, right].map((members) =>
      JSON.stringify(Object.assign(Object.create(null), sampleBody, members)),
    );
    expect(keyOf(a, { ignoreBody: [pointer] })).toBe(keyOf(b, { ignoreBody: [pointer] }));
  });

  it.each([
    ['/metadata/a', { metadata: { b: 1 } }, { metadata: { b: 2 } }],
    ['/stop/00', { stop: ['a'] }, { stop: ['b'] }],
    ['/stop/-', { stop: ['a'] }, { stop: ['b'] }],
    ['/metadata/a/b', { metadata: { a: 'x' } }, { metadata: { a: 'y' } }],
  ])('is nothing but what %s names', (pointer, left, right) => {
    const [a, b] = [left, right].map((members) => keyOf({ ...sampleBody, ...members }, { ignoreBody: [pointer] }));
    expect(a).not.toBe(b);
  });
});

describe('what a policy includes', () => {
  it('is a header that is ignored otherwise', () => {
    const include = [{ kind: 'header', name: 'user-agent' }] as const;
    const keys = [[], ['a'], ['b'], ['a', 'b'], ['ab']].map((values) => {
      const headers = values.map((value) => ['user-agent', value] as const);
      return keyOf(sampleBody, { include }, withHeaders(...headers));
    });
    expect(new Set(keys).size).toBe(keys.length);
    expect(keyOf(sampleBody, {}, withHeaders(['user-agent', 'a']))).toBe(keyOf(sampleBody, {}));
  });

  it('is metadata of any kind, each kind apart', () => {
    const include = [{ kind: 'metadata', namespace: 'n', path: ['a', 'b'] }] as const;
    const values = [undefined, null, '', 'x', '1', 1, true, 'true', [], ['x'], {}, { x: 1 }, { x: '1' }, Number.NaN];
    const keyFor = (value: unknown): string => {
      const metadata = (namespace: string): unknown => (namespace === 'n' ? { a: { b: value } } : undefined);
      return keyOf(sampleBody, { include }, sampleHead({ metadata }));
    };
    expect(new Set(values.map(keyFor)).size).toBe(values.length);
    expect(keyFor({ x: 1, y: 2 })).toBe(keyFor({ y: 2, x: 1 }));
  });
});
