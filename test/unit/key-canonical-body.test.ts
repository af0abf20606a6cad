/**
 * The canonical body, as properties of the key: spellings that mean the same have one key, everything else has another.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalBody } from '../../src/coalesce/key/canonical-body.ts';
import { readBody, streamModeOf } from '../../src/coalesce/key/request-body.ts';
import { openaiChat } from '../../src/coalesce/profiles/openai/chat.ts';
import { jsonInRange, randomFrom, spell, type Spelling } from '../support/json-spelling.ts';
import { keyOrReason, sampleHead, samplePolicy } from '../support/request-samples.ts';

const policy = samplePolicy({ sampling: 'any', tools: 'allow' });
const anyKey = /^[0-9a-f]{64}$/;

const envelopes: ReadonlySet<string> = new Set([
  '',
  '/messages/*',
  '/messages/*/content/*',
  '/messages/*/content/*/image_url',
  '/stream_options',
  '/logit_bias',
]);
const floats: ReadonlySet<string> = new Set([
  '/temperature',
  '/top_p',
  '/min_p',
  '/frequency_penalty',
  '/presence_penalty',
]);

function spellingOf(seed: number): Spelling {
  return {
    random: randomFrom(seed),
    mayReorder: (path) => envelopes.has(path),
    mayRespell: (path) => floats.has(path),
  };
}

function keyOf(text: string): string {
  return keyOrReason(sampleHead(), text, policy);
}

const text = fc.string({ unit: 'grapheme', maxLength: 30 });
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url: text, detail: fc.constantFrom('low', 'high') }),
  }),
);
const message = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'system'),
    content: fc.oneof(text, fc.array(part, { maxLength: 3 })),
    name: text,
  },
  { requiredKeys: ['role', 'content'] },
);
const schema = fc.dictionary(text, jsonInRange(2), { maxKeys: 4 });
const chatBody = fc.record(
  {
    model: fc.string({ minLength: 1 }),
    messages: fc.array(message, { maxLength: 4 }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.constantFrom(0, 0.5, 1),
    frequency_penalty: fc.constantFrom(-1, -0, 0, 0.25),
    seed: fc.maxSafeInteger(),
    stream: fc.boolean(),
    stream_options: fc.record({ include_usage: fc.boolean(), include_obfuscation: fc.boolean() }),
    logit_bias: fc.dictionary(fc.nat(999).map(String), fc.integer({ min: -100, max: 100 }), { maxKeys: 4 }),
    tools: fc.array(
      fc.record({ type: fc.constant('function'), function: fc.record({ name: text, parameters: schema }) }),
      { maxLength: 2 },
    ),
    x_unknown: jsonInRange(2),
  },
  { requiredKeys: ['model', 'messages'] },
);

/** Every path to a scalar in a value. */
function scalarPaths(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (value === null || typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([name, member]) => scalarPaths(member, [...path, name]));
}

/** A copy in which the scalar at `path` is another one. */
function withOther(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return otherScalar(value);
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === name ? withOther(item, rest) : item));
  return Object.fromEntries(
    Object.entries(value as object).map(([key, member]) => [key, key === name ? withOther(member, rest) : member]),
  );
}

function otherScalar(value: unknown): unknown {
  if (typeof value === 'string') return `${value} `;
  if (typeof value === 'number') return value === 7 ? 8 : 7;
  return typeof value === 'boolean' ? !value : 'not null';
}

/** JSON.stringify merges -0 into 0. */
const exactly = (seed: number): Spelling => ({
  random: randomFrom(seed),
  mayReorder: () => false,
  mayRespell: () => false,
});

describe('a chat body', () => {
  it('has one key in all spellings', () => {
    fc.assert(
      fc.property(chatBody, fc.nat(), fc.nat(), (body, left, right) => {
        const key = keyOf(spell(body, spellingOf(left)));
        expect(key).toMatch(anyKey);
        expect(keyOf(spell(body, spellingOf(right)))).toBe(key);
      }),
      { numRuns: 300 },
    );
  });

  it('has another key when any scalar in it is another', () => {
    fc.assert(
      fc.property(chatBody, fc.nat(), (body, choice) => {
        const paths = scalarPaths(body).filter(
          (path) => path.join('/') !== 'tools/0/type' && path.join('/') !== 'tools/1/type',
        );
        const path = paths[choice % paths.length] ?? [];
        const key = keyOf(spell(body, exactly(1)));
        expect(key).toMatch(anyKey);
        expect(keyOf(spell(withOther(body, path), exactly(1)))).not.toBe(key);
      }),
      { numRuns: 500 },
    );
  });

  it('has another key with one more member, at the root or in a message', () => {
    fc.assert(
      fc.property(chatBody, jsonInRange(3), (body, value) => {
        const key = keyOf(JSON.stringify(body));
        expect(keyOf(JSON.stringify({ ...body, one_more: value }))).not.toBe(key);
        const messages = [{ role: 'user', content: '' }, ...body.messages];
        const withMessages = keyOf(JSON.stringify({ ...body, messages }));
        const withMember = [{ role: 'user', content: '', one_more: value }, ...body.messages];
        expect(keyOf(JSON.stringify({ ...body, messages: withMember }))).not.toBe(withMessages);
      }),
    );
  });

  it('has another key when the members of a schema are in another order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(text, { minLength: 2, maxLength: 5 }), (names) => {
        const withProperties = (properties: readonly string[]): string =>
          `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{${properties
            .map((name) => `${JSON.stringify(name)}:{}`)
            .join(',')}}}}}]}`;
        const key = keyOf(withProperties(names));
        expect(key).toMatch(anyKey);
        expect(keyOf(withProperties([...names].reverse()))).not.toBe(key);
      }),
    );
  });

  it('has another key where names that differ by case alone change places: a reader that ignores case takes the last', () => {
    const message = (members: string): string => `{"model":"m","messages":[{"role":"user",${members}}]}`;
    expect(keyOf(message('"content":"x","Content":"y"'))).not.toBe(keyOf(message('"Content":"y","content":"x"')));
    const root = (members: string): string => `{"model":"m","messages":[],${members}}`;
    expect(keyOf(root('"foo":1,"FOO":2'))).not.toBe(keyOf(root('"FOO":2,"foo":1')));
    expect(keyOf(root('"foo":1,"bar":2'))).toBe(keyOf(root('"bar":2,"foo":1')));
  });

  it('has a canonical form that is itself canonical, and means the same', () => {
    fc.assert(
      fc.property(chatBody, fc.nat(), (body, seed) => {
        const canonical = canonicalOf(Buffer.from(spell(body, spellingOf(seed))));
        expect(canonicalOf(canonical)).toEqual(canonical);
        expect(JSON.parse(canonical.toString())).toEqual({ stream: false, ...body });
      }),
    );
  });
});

function canonicalOf(bytes: Uint8Array): Buffer {
  const body = readBody(bytes, openaiChat);
  if (body === null) throw new Error('the body was not read');
  const stream = streamModeOf(body, openaiChat);
  if (stream === null) throw new Error('the stream mode was not read');
  return canonicalBody(body, { profile: openaiChat, ignoreIdentity: false, stream });
}

describe('the canonical form', () => {
  it('spells each string one way', () => {
    const spelled = canonicalOf(
      Buffer.from('{"a":"\\u00e9\\/\\u0022\\u005c\\u000A\\u001F\\u007f\\ud83d\\ude00<"}'),
    ).toString();
    expect(spelled).toBe('{"a":"\u00e9/\\"\\\\\\n\\u001f\u007f\u{1f600}<","stream":false}');
  });

  it('sorts envelopes, keeps numbers as written and sampling floats by value', () => {
    const spelled = canonicalOf(
      Buffer.from('{"top_p":1.0,"stream":true,"max_tokens":1e1,"logit_bias":{"9":1.0,"10":1}}'),
    ).toString();
    expect(spelled).toBe('{"logit_bias":{"10":1,"9":1.0},"max_tokens":1e1,"top_p":1,"stream":true}');
  });
});

describe('identity members', () => {
  const ignoring = samplePolicy({ identity: 'ignore' });
  const body = (member: object): object => ({ model: 'm', messages: [], temperature: 0, ...member });

  it.each(['user', 'safety_identifier', 'prompt_cache_key'])(
    '%s is left out only where the policy ignores identity',
    (member) => {
      const head = sampleHead();
      const [without, withIt] = [body({}), body({ [member]: 'u1' })];
      expect(keyOrReason(head, withIt, ignoring)).toBe(keyOrReason(head, without, ignoring));
      expect(keyOrReason(head, withIt)).not.toBe(keyOrReason(head, without));
    },
  );

  it('metadata of a chat completion always counts, as its answer may echo it', () => {
    const head = sampleHead();
    expect(keyOrReason(head, body({ metadata: { a: 'b' } }), ignoring)).not.toBe(keyOrReason(head, body({}), ignoring));
  });
});
