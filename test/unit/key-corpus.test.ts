/**
 * The key corpus: pairs of requests that must or must not have one key, and what real SDKs send. Read from test/data/corpus.
 */

import { describe, expect, it } from 'vitest';
import type { RequestHead } from '../../src/coalesce/request/head.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';
import { bodyOf, corpusFiles, readCorpus, type CorpusCase, type CorpusRequest } from '../support/corpus.ts';
import { claims, decide, defaultSources, sampleHead, samplePolicy } from '../support/request-samples.ts';

interface Capture extends CorpusRequest {
  readonly name: string;
  readonly expect: { readonly verdict: 'key' | 'never' | 'reject'; readonly deterministic: boolean };
}

interface CaptureGroups {
  readonly same: Readonly<Record<string, readonly string[]>>;
  readonly single: readonly string[];
  readonly different_pairs: readonly { readonly a: string; readonly b: string; readonly why: string }[];
  readonly nondeterministic: readonly string[];
}

function corpusPolicy(sampling: Policy['sampling']): Policy {
  const tenant = { from: [...defaultSources, { kind: 'sigv4' } as const], anonymous: 'share' } as const;
  return samplePolicy({ tenant, tools: 'allow', identity: 'ignore', sampling });
}

function headOf(request: CorpusRequest): RequestHead {
  const headers = Object.entries(request.headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as const),
  );
  const authority = headers.find(([name]) => name === 'host')?.[1] ?? 'llm.example.com';
  return sampleHead({
    method: request.method,
    path: request.path,
    authority,
    headers: headers.filter(([name]) => name !== 'host'),
    metadata: request.tenant === undefined ? () => undefined : claims({ iss: 'test', sub: request.tenant }),
  });
}

/** The key, or the reason for a bypass. */
function resultOf(request: CorpusRequest, sampling: Policy['sampling']): string {
  const verdict = decide(headOf(request), bodyOf(request), corpusPolicy(sampling));
  return verdict.kind === 'eligible' ? verdict.key : verdict.reason;
}

const anyKey = /^[0-9a-f]{64}$/;

describe.each(corpusFiles('keys/'))('corpus %s', (file) => {
  const cases = readCorpus<readonly CorpusCase[]>(`keys/${file}`);

  it('is not empty', () => expect(cases.length).toBeGreaterThan(0));

  it.each(cases.map((entry) => ({ ...entry, title: `${entry.name}: ${entry.expect}` })))('$title', (entry) => {
    const sampling = entry.config?.nondeterministic === 'bypass' ? 'seeded' : 'any';
    const a = resultOf(entry.a, sampling);
    const b = resultOf(entry.b, sampling);
    if (entry.expect === 'reject') {
      expect(a, entry.why).not.toMatch(anyKey);
      expect(b, entry.why).not.toMatch(anyKey);
    } else {
      expect(a).toMatch(anyKey);
      expect(b).toMatch(anyKey);
      expect(a === b ? 'same' : 'different', entry.why).toBe(entry.expect);
    }
  });
});

describe('captured requests of real SDKs', () => {
  const groups = readCorpus<CaptureGroups>('captured-groups.json');
  const captures = new Map(
    corpusFiles('captured/').map((file): [string, Capture] => {
      const capture = readCorpus<Capture>(`captured/${file}`);
      return [capture.name, capture];
    }),
  );

  function capture(name: string): Capture {
    const found = captures.get(name);
    if (found === undefined) throw new Error(`no capture ${name}`);
    return found;
  }

  const results = new Map([...captures.values()].map((entry) => [entry.name, resultOf(entry, 'any')]));

  it('are many', () => expect(captures.size).toBeGreaterThan(120));

  it.each([...captures.values()])('$name is judged as expected', (entry) => {
    expect(anyKey.test(results.get(entry.name) ?? '')).toBe(entry.expect.verdict === 'key');
    if (entry.expect.verdict === 'key') {
      const strict = resultOf(entry, 'seeded');
      expect(anyKey.test(strict)).toBe(entry.expect.deterministic);
      expect(strict === 'nondeterministic').toBe(groups.nondeterministic.includes(entry.name));
    }
  });

  it.each(Object.entries(groups.same))('group %s has one key', (_, names) => {
    expect(new Set(names.map((name) => results.get(capture(name).name))).size).toBe(1);
  });

  it('different groups have different keys', () => {
    const first = [...Object.values(groups.same).map(([name = '']) => name), ...groups.single];
    expect(new Set(first.map((name) => results.get(capture(name).name))).size).toBe(first.length);
  });

  it.each(groups.different_pairs)('$a and $b differ: $why', ({ a, b }) => {
    expect(results.get(capture(a).name)).not.toBe(results.get(capture(b).name));
  });
});
