/**
 * Which calls are never shared, endpoint by endpoint: those that act or keep state, and endpoints that are not on the list.
 * Cases in test/data/endpoints.
 */

import { describe, expect, it } from 'vitest';
import { knownProfiles, profileOf } from '../../src/coalesce/profiles/known-profiles.ts';
import { samplePath } from '../../src/coalesce/profiles/path-pattern.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';
import { sampleBody, keyOrReason, sampleHead } from '../support/request-samples.ts';
import { casePolicy, headOf, readCases, resultOf, samples } from '../support/endpoint-cases.ts';

type SafetyRow = readonly [sample: string, also: string, result: string];

const safety = readCases<readonly SafetyRow[]>('safety.yaml');
const never = readCases<readonly string[]>('never.yaml');

const anyKey = /^[0-9a-f]{64}$/;

function outcomeOf(sample: string, also: string, policy = casePolicy()): string {
  const result = resultOf(sample, { also }, policy);
  return anyKey.test(result) ? 'eligible' : result;
}

describe('a call', () => {
  it.each(safety)('to %s with %s: %s', (sample, also, result) => {
    expect(outcomeOf(sample, also)).toBe(result);
  });
});

describe('where the policy bypasses tools, a call', () => {
  it.each(readCases<readonly SafetyRow[]>('tools.yaml'))('to %s with %s: %s', (sample, also, result) => {
    expect(outcomeOf(sample, also, casePolicy({ tools: 'bypass' }))).toBe(result);
  });
});

type SamplingRow = readonly [sample: string, members: string, weakest: Policy['sampling']];

describe('determinism', () => {
  const levels = ['deterministic', 'seeded', 'any'] as const;

  it.each(readCases<readonly SamplingRow[]>('sampling.yaml'))('of %s with %s: %s', (sample, members, weakest) => {
    const results = levels.map((sampling) => resultOf(sample, { members }, casePolicy({ sampling })));
    const expected = levels.map((level) => levels.indexOf(level) >= levels.indexOf(weakest));
    expect(results.map((result) => result !== 'nondeterministic')).toEqual(expected);
    expect(results.at(-1)).toMatch(anyKey);
  });
});

describe('an endpoint that is not on the list', () => {
  it.each(never)('%s', (line) => {
    const [method = '', path = ''] = line.split(' ');
    expect(keyOrReason(sampleHead({ method, path }), sampleBody, casePolicy())).toBe('not_llm');
  });
});

describe('the list of endpoints', () => {
  it('has the profile of every one of its paths, alone or behind a prefix', () => {
    for (const profile of knownProfiles) {
      for (const pattern of profile.paths) {
        expect(profileOf('POST', samplePath(pattern))?.name).toBe(profile.name);
        expect(profileOf('POST', `/gateway/team-a${samplePath(pattern)}?x=/y`)?.name).toBe(profile.name);
      }
    }
  });

  it('has no path twice, and no name', () => {
    const templates = knownProfiles.flatMap(({ paths }) => paths.map(({ template }) => template));
    expect(new Set(templates).size).toBe(templates.length);
    expect(new Set(knownProfiles.map(({ name }) => name)).size).toBe(knownProfiles.length);
  });

  it('has a sample for each', () => {
    const sampled = [...samples.keys()].map((name) => profileOf('POST', headOf(name).path)?.name);
    expect(new Set(sampled)).toEqual(new Set(knownProfiles.map(({ name }) => name)));
  });

  it('names the source of each', () => {
    for (const { sources } of knownProfiles) expect(sources.length).toBeGreaterThan(0);
  });
});
