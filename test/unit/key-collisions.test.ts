/**
 * A million requests that all differ, made of pieces that would meet in a key which joins its parts without their lengths:
 * no two have one key.
 */

import { expect, it } from 'vitest';
import { makeKey } from '../../src/coalesce/key/key.ts';
import { profileOf } from '../../src/coalesce/profiles/known-profiles.ts';
import { examine } from '../../src/coalesce/request/eligibility.ts';
import { casePolicy } from '../support/endpoint-cases.ts';
import { claims, sampleHead, secret } from '../support/request-samples.ts';

/** Ten of each: every combination is another request. */
const tenants = ['a', 'a|', '|a', 'a|b', 'a:b', 'a"', 'A', 'a ', 'a,b', 'ab'];
const headers = ['', 'a', 'a|b', 'b', ':', '","', 'x-a', ' ', '0', '1:'];
const queries = ['', '?', '?a', '?a=', '?a=b', '?b=a', '?a=b&c', '?a=%62', '?=', '?&'];
const models = ['m', 'M', 'm ', 'm","n":"', 'm|', 'mm', '\u00e9', 'e\u0301', '0', 'null'];
const contents = ['', ' ', 'hi', 'hi ', 'h i', '"', '\\', '\n', '\\n', '{"role":"user"}'];
const extras = ['1', '1.0', '"1"', 'true', 'null', '[]', '{}', '[1]', '[[1]]', '{"a":1}'];

const count = 1_000_000;
const policy = casePolicy();

function at(pieces: readonly string[], index: number, place: number): string {
  return pieces[Math.floor(index / 10 ** place) % 10] ?? '';
}

function keyOf(index: number): string {
  const head = sampleHead({
    path: `/v1/chat/completions${at(queries, index, 2)}`,
    headers: [
      ['content-type', 'application/json'],
      ['x-a', at(headers, index, 1)],
    ],
    metadata: claims({ iss: 'i', sub: at(tenants, index, 0) }),
  });
  const profile = profileOf(head.method, head.path);
  if (profile === null) throw new Error('no profile');
  const message = `{"role":"user","content":${JSON.stringify(at(contents, index, 4))}}`;
  const body = `{"model":${JSON.stringify(at(models, index, 3))},"messages":[${message}],"x":${at(extras, index, 5)}}`;
  const examination = examine({ head, body: Buffer.from(body), profile, fleet: null }, { policy, secret });
  if (examination.kind === 'bypass') throw new Error(`${examination.reason}: ${body}`);
  return makeKey(secret, examination.parts);
}

it('no two of a million requests have one key', { timeout: 180_000 }, () => {
  // 64 of the 256 bits are enough: two that meet in them by chance are one run in thirty million.
  const keys = new BigUint64Array(count);
  for (let index = 0; index < count; index += 1) keys[index] = BigInt(`0x${keyOf(index).slice(0, 16)}`);
  keys.sort();
  const met = keys.findIndex((key, index) => index > 0 && key === keys[index - 1]);
  expect(met).toBe(-1);
});
