/**
 * Properties of the key on every endpoint: what is noise never changes it, everything else always does.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { knownProfiles, profileOf } from '../../src/coalesce/profiles/known-profiles.ts';
import { casePolicy, headOf } from '../support/endpoint-cases.ts';
import { endpointShapes, type EndpointShape } from '../support/endpoint-shapes.ts';
import { jsonInRange, randomFrom, spell, type Spelling } from '../support/json-spelling.ts';
import { keyOrReason } from '../support/request-samples.ts';

type Path = readonly string[];

const policy = casePolicy();
const anyKey = /^[0-9a-f]{64}$/;

function spellingOf({ envelopes, floats }: EndpointShape, seed: number): Spelling {
  return {
    random: randomFrom(seed),
    mayReorder: (path) => path === '' || envelopes.includes(path),
    mayRespell: (path) => floats.includes(path),
  };
}

function keyOf({ sample }: EndpointShape, body: unknown): string {
  return keyOrReason(headOf(sample), typeof body === 'string' ? body : JSON.stringify(body), policy);
}

/** Every path to a value of this kind, the root's included. */
function pathsTo(value: unknown, isWanted: (value: unknown) => boolean, path: Path = []): Path[] {
  const here = isWanted(value) ? [path] : [];
  if (value === null || typeof value !== 'object') return here;
  return [...here, ...Object.entries(value).flatMap(([name, member]) => pathsTo(member, isWanted, [...path, name]))];
}

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';
const isObject = (value: unknown): boolean => value !== null && typeof value === 'object' && !Array.isArray(value);

/** A copy in which the value at `path` is changed. */
function changedAt(value: unknown, [name, ...rest]: Path, change: (value: unknown) => unknown): unknown {
  if (name === undefined) return change(value);
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === name ? changedAt(item, rest, change) : item));
  return Object.fromEntries(
    Object.entries(value as object).map(([key, member]) => [
      key,
      key === name ? changedAt(member, rest, change) : member,
    ]),
  );
}

function otherScalar(value: unknown): unknown {
  if (typeof value === 'string') return `${value} `;
  if (typeof value === 'number') return value + 1;
  return typeof value === 'boolean' ? !value : 0;
}

const reversed = (value: unknown): unknown => Object.fromEntries(Object.entries(value as object).reverse());

it('every profile has a shape', () => {
  const shaped = endpointShapes.map(({ sample }) => profileOf('POST', headOf(sample).path)?.name);
  expect(new Set(shaped)).toEqual(new Set(knownProfiles.map(({ name }) => name)));
});

describe.each(endpointShapes.map((shape) => [shape.sample, shape] as const))('the key of %s', (_, shape) => {
  const key = keyOf(shape, shape.body);
  const counted = pathsTo(shape.body, isScalar).filter(([name = '']) => !shape.identity.includes(name));
  const objects = pathsTo(shape.body, isObject).filter(([name = '']) => !shape.identity.includes(name));

  it('is the same in all spellings', () => {
    expect(key).toMatch(anyKey);
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        expect(keyOf(shape, spell(shape.body, spellingOf(shape, seed)))).toBe(key);
      }),
      { numRuns: 60 },
    );
  });

  it('changes with every scalar', () => {
    for (const path of counted) {
      expect(keyOf(shape, changedAt(shape.body, path, otherScalar)), path.join('/')).not.toBe(key);
    }
  });

  it('changes with any other value in any place', () => {
    const place = fc.constantFrom(...counted);
    fc.assert(
      fc.property(place, jsonInRange(2), (path, value) => {
        const changed = changedAt(shape.body, path, () => value);
        fc.pre(JSON.stringify(changed) !== JSON.stringify(shape.body));
        expect(keyOf(shape, changed)).not.toBe(key);
      }),
      { numRuns: 60 },
    );
  });

  it('changes with a member more or less in any object', () => {
    for (const path of objects) {
      const more = changedAt(shape.body, path, (value) => ({ ...(value as object), zz_more: null }));
      expect(keyOf(shape, more), path.join('/')).not.toBe(key);
    }
    for (const path of counted) {
      const less = changedAt(shape.body, path.slice(0, -1), (value) =>
        Array.isArray(value)
          ? value.filter((_item, index) => String(index) !== path.at(-1))
          : Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== path.at(-1))),
      );
      expect(keyOf(shape, less), path.join('/')).not.toBe(key);
    }
  });

  it('changes with the order of members where that counts', () => {
    for (const path of shape.ordered) {
      const changed = changedAt(shape.body, path.slice(1).split('/'), reversed);
      expect(JSON.stringify(changed)).not.toBe(JSON.stringify(shape.body));
      expect(keyOf(shape, changed), path).toMatch(anyKey);
      expect(keyOf(shape, changed), path).not.toBe(key);
    }
  });

  it('changes with the order of items in any array', () => {
    for (const path of pathsTo(shape.body, (value) => Array.isArray(value) && value.length > 1)) {
      const changed = changedAt(shape.body, path, (value) => (value as unknown[]).toReversed());
      expect(keyOf(shape, changed), path.join('/')).not.toBe(key);
    }
  });

  it('does not change with who asks, unless the policy keeps it', () => {
    for (const member of shape.identity) {
      const changed = { ...shape.body, [member]: { other: [1] } };
      expect(keyOf(shape, changed)).toBe(key);
      const kept = [shape.body, changed].map((body) =>
        keyOrReason(headOf(shape.sample), body, casePolicy({ identity: 'keep' })),
      );
      expect(kept[0]).not.toBe(kept[1]);
    }
  });

  it('changes with any unknown header', () => {
    const name = fc.stringMatching(/^[a-z][a-z-]{2,12}$/).map((text) => `q-${text}`);
    fc.assert(
      fc.property(name, fc.stringMatching(/^[ -~]{0,8}$/), (header, value) => {
        const head = headOf(shape.sample, { headers: { [header]: value } });
        expect(keyOrReason(head, shape.body, policy)).toMatch(anyKey);
        expect(keyOrReason(head, shape.body, policy)).not.toBe(key);
      }),
      { numRuns: 20 },
    );
  });
});
