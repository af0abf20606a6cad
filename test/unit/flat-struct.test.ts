import fc from 'fast-check';
import structProto from 'google-protobuf/google/protobuf/struct_pb.js';
import { describe, expect, test } from 'vitest';

import { flatStruct } from '../../src/extproc/wire/protobuf/flat-struct.ts';
import { structBytes } from '../support/proto-codec.ts';

/** What the reference reader makes of the bytes; undefined where it refuses them. */
function reference(bytes: Uint8Array): unknown {
  try {
    return structProto.Struct.deserializeBinary(bytes).toJavaScript();
  } catch {
    return undefined;
  }
}

describe('the reader of flat Structs', () => {
  test('Envoy’s attributes are read', () => {
    const attributes = { 'xds.route_name': 'llm', 'xds.cluster_name': 'openai', empty: '' };
    expect(flatStruct(structBytes(attributes))).toEqual(attributes);
    expect(flatStruct(new Uint8Array())).toEqual({});
  });

  test.each([
    ['a number', { a: 1 }],
    ['null', { a: null }],
    ['a truth value', { a: true }],
    ['a list', { a: ['b'] }],
    ['a Struct within', { a: { b: 'c' } }],
    ['a text beyond ASCII', { a: 'é' }],
    ['a name beyond ASCII', { é: 'a' }],
  ])('%s is left to the reference reader', (_name, value) => {
    expect(flatStruct(structBytes({ before: 'x', ...value }))).toBeNull();
  });

  test('a member called __proto__ is left to the reference reader', () => {
    const bytes = Buffer.from(
      structBytes({ proto__xx: 'a' }).toString('latin1').replace('proto__xx', '__proto__'),
      'latin1',
    );
    expect(flatStruct(bytes)).toBeNull();
  });

  test('of two values under one name the later counts, as with the reference reader', () => {
    const bytes = Buffer.concat([structBytes({ a: 'first', b: 'x' }), structBytes({ a: 'second' })]);
    expect(flatStruct(bytes)).toEqual({ a: 'second', b: 'x' });
    expect(reference(bytes)).toEqual({ a: 'second', b: 'x' });
  });

  test('a Struct cut anywhere is read as the reference reader reads it, or not at all', () => {
    const whole = structBytes({ 'xds.route_name': 'llm', ticket: 't0123' });
    for (let length = 0; length <= whole.length; length += 1) expectAgreement(whole.subarray(0, length));
  });

  test('whatever is read is what the reference reader reads', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }));
    const member = fc.oneof(text, fc.integer(), fc.constant(null), fc.constant({ nested: 'x' }));
    fc.assert(
      fc.property(fc.dictionary(text, member), (value) => expectAgreement(structBytes(value))),
      { numRuns: 2_000 },
    );
  });

  test('whatever is read of changed bytes is what the reference reader reads', () => {
    const change = fc.tuple(fc.nat(200), fc.nat(255));
    const value = fc.dictionary(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), { maxKeys: 4 });
    fc.assert(
      fc.property(value, fc.array(change, { minLength: 1, maxLength: 3 }), (struct, changes) => {
        const bytes = Buffer.from(structBytes(struct));
        for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        expectAgreement(bytes);
      }),
      { numRuns: 20_000 },
    );
  });
});

function expectAgreement(bytes: Uint8Array): void {
  const read = flatStruct(bytes);
  if (read !== null) expect(read).toEqual(reference(bytes));
}
