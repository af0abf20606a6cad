/** Policies and endpoints of the operator's own in a configuration: what is built of them, and what is refused. */

import { describe, expect, it } from 'vitest';

import { policyFor } from '../../src/coalesce/request/policy-choice.ts';
import type { RequestHead } from '../../src/coalesce/request/head.ts';
import { printMistake } from '../../src/config/mistakes/mistakes.ts';
import { readConfig } from '../../src/config/read.ts';
import type { Config } from '../../src/config/definition.ts';
import { sampleHead } from '../support/request-samples.ts';

function result(text: string): ReturnType<typeof readConfig> {
  return readConfig(text, { file: 'c.yaml', readFile: () => '' });
}

function read(text: string): Config {
  const outcome = result(text);
  if (outcome.kind === 'mistakes') throw new Error(outcome.mistakes.map(printMistake).join('\n'));
  return outcome.config;
}

function mistakes(text: string): string[] {
  const outcome = result(text);
  return outcome.kind === 'mistakes' ? outcome.mistakes.map(printMistake) : [];
}

describe('a policy of the file', () => {
  it('says what it says, and keeps the rest of the file', () => {
    const { policies, policy } = read('sampling: any\ntools: allow\npolicies: {a: {sampling: seeded, rollout: 5}}');
    expect(policies).toHaveLength(1);
    expect(policies[0]?.policy).toMatchObject({ name: 'a', sampling: 'seeded', tools: 'allow', rollout: 5 });
    expect(policies[0]?.policy.epoch).not.toBe(policy.epoch);
    expect(policies[0]?.match).toBeNull();
  });

  it('replaces whole lists', () => {
    const { policies } = read('key: {ignore_headers: [x-a]}\npolicies: {a: {key: {ignore_headers: [x-b]}}, b: }');
    expect(policies.map(({ policy }) => policy.key.ignoreHeaders)).toEqual([['x-b'], ['x-a']]);
  });

  const chosen = (config: Config, changes: Partial<RequestHead>): string =>
    policyFor(sampleHead(changes), config.policy, config.policies).name;

  it('applies where all of its match holds; of two the first in the file', () => {
    const config = read(`
policies:
  both: {match: {path_prefix: /v1/, route: r}}
  path: {match: {path_prefix: /v1/}}
  host: {match: {authority: LLM.example.com}}
  port: {match: {authority: "llm.example.com:8443"}}
  name: {mode: off}
`);
    expect(chosen(config, { routeName: 'r' })).toBe('both');
    expect(chosen(config, { routeName: 'other' })).toBe('path');
    expect(chosen(config, { path: '/v2/x' })).toBe('host');
    expect(chosen(config, { path: '/v2/x', authority: 'llm.EXAMPLE.com:8443' })).toBe('host');
    expect(chosen(config, { path: '/v2/x', authority: 'other' })).toBe('default');
    expect(chosen(config, { path: '/V1/x', authority: 'other' })).toBe('default');
  });

  it.each([
    ['policies: {a: {match: {route: r}}, b: {match: {route: r}}}', 'policies.b.match: is the match of policies.a too'],
    [
      'policies: {a: {match: {authority: H}}, b: {match: {authority: h}}}',
      'policies.b.match: is the match of policies.a',
    ],
    ['policies: {a: {match: {}}}', 'policies.a.match: empty, expected at least one of path_prefix, authority, route'],
    [
      'policies: {a: {match: {path_prefx: /v1}}}',
      'policies.a.match.path_prefx: unknown key, the nearest known key is policies.a.match.path_prefix',
    ],
    ['policies: {a: {match: {path_prefix: v1}}}', 'policies.a.match.path_prefix: "v1" is not allowed, expected a path'],
    [
      'policies: {a: {smapling: any}}',
      'policies.a.smapling: unknown key, the nearest known key is policies.a.sampling',
    ],
    ['policies: {a: {sampling: some}}', 'policies.a.sampling: "some" is not allowed'],
    ['policies: {a: {listen: x}}', 'policies.a.listen: belongs at the top of the file, not in a policy'],
    ['policies: {a: {key: {secret: x}}}', 'policies.a.key.secret: belongs at the top of the file, not in a policy'],
    [
      'policies: {a: {limits: {max_waiters: 20000}}}',
      'policies.a.limits.max_waiters: 20000 is over limits.max_waiters_total',
    ],
    ['policies: {default: {}}', 'policies.default: a name that is taken'],
    ['policies: {1: {}}', 'policies.1: not a name'],
    ['policies: [a]', 'policies: a list is not a mapping of names to policies'],
    ['policies: {a: 5}', 'policies.a: 5 is not a mapping of keys'],
    ['rollout: 101', 'rollout: 101 is not allowed, expected a number from 0 to 100'],
    ['shadow: {compare: 2}', 'shadow.compare: 2 is not allowed, expected a number from 0 to 1'],
    [
      'shadow: {max_bytes: 9MiB}',
      'shadow.max_bytes: "9MiB" is not allowed, expected a size such as 65536, 64KiB or 8MiB, from 1 to 8MiB',
    ],
  ])('%s is refused', (text, expected) => {
    const found = mistakes(text);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(expected);
  });

  it('has its mistakes told with those of the file, each at its line', () => {
    expect(mistakes('mode: on\npolicies:\n  a:\n    tools: some\n  b: {retries: 1}\nlog: {level: loud}')).toEqual([
      expect.stringContaining('c.yaml:1: mode: '),
      expect.stringContaining('c.yaml:4: policies.a.tools: '),
      expect.stringContaining('c.yaml:5: policies.b.retries: '),
      expect.stringContaining('c.yaml:6: log.level: '),
    ]);
  });
});

describe('what a policy changes about the key', () => {
  it.each([
    ['ignore_headers: [authorization]', 'proves or tells who asks'],
    ['ignore_headers: [Proxy-Authorization]', 'proves or tells who asks'],
    ['ignore_headers: [x-goog-api-key]', 'proves or tells who asks'],
    ['ignore_headers: [x-amz-security-token]', 'proves or tells who asks'],
    ['ignore_headers: [cookie]', 'proves or tells who asks'],
    ['ignore_headers: [x-forwarded-user]', 'proves or tells who asks'],
    ['ignore_headers: [x-coalesce-nonce]', 'is how callers steer sharing'],
    ['ignore_headers: [x-coalesce]', 'is how callers steer sharing'],
    ['ignore_headers: [x-noise-*]', "expected a header's whole name"],
    ['ignore_headers: [":path"]', "expected a header's name"],
    ['ignore_headers: [x-a], include: [{header: x-a}]', 'x-a is in key.include too'],
    ['ignore_body: [metadata]', 'expected a JSON Pointer'],
    ['ignore_body: [""]', 'expected a JSON Pointer'],
    ['ignore_body: [/a~2b]', 'expected a JSON Pointer'],
    ['ignore_body: [/*]', '/model names who answers'],
    ['ignore_body: [/model]', '/model names who answers'],
    ['ignore_body: [/messages/*/name]', '/messages is the question'],
    ['ignore_body: [/contents]', '/contents is the question'],
    ['ignore_body: [/input/0]', '/input is the question'],
    ['ignore_body: [/system]', '/system is the question'],
    ['ignore_body: [/tools/*/function/description]', '/tools says what the model may call'],
    ['ignore_body: [/stream]', '/stream decides the form'],
    ['ignore_body: [/response_format/type]', '/response_format is a schema'],
    ['ignore_body: [/generationConfig]', '/generationConfig/responseSchema is a schema'],
    ['ignore_body: [/*/format]', '/model names who answers'],
    ['ignore_body: [/extra/json_schema]', 'json_schema is a schema'],
    ['normalize: [lowercase]', 'expected collapse_whitespace, strip_timestamps or'],
    ['normalize: [{strip_nonces: []}]', 'expected collapse_whitespace, strip_timestamps or'],
    ["normalize: [{strip_nonces: ['a+']}]", 'the pattern "a+" "+" is not understood'],
    ["normalize: [{strip_nonces: ['(a|b){4}']}]", 'is not understood'],
    ["normalize: [{strip_nonces: ['abcd']}]", 'has no set of characters'],
    ["normalize: [{strip_nonces: ['[a-z]{3}']}]", 'matches fewer than 4 characters'],
    ["normalize: [{strip_nonces: ['[a-z]{4,300}']}]", 'matches more than 256 characters'],
    ["normalize: [{strip_nonces: ['[a-z]{4,8}x']}]", 'followed by a character that it holds itself'],
    ["normalize: [{strip_nonces: ['[a-z]{8,4}']}]", 'the smaller one first'],
    ['include: [{header: a, metadata: {namespace: n, path: [p]}}]', 'expected exactly one of header, metadata'],
    ['include: [{}]', 'expected exactly one of header, metadata'],
  ])('%s is refused', (text, expected) => {
    for (const whole of [`key: {${text}}`, `policies: {a: {key: {${text}}}}`]) {
      const found = mistakes(whole);
      expect(found).toHaveLength(1);
      expect(found[0]).toContain(expected);
    }
  });

  it('cannot be that a header which names the tenant is ignored', () => {
    const tenant = 'tenant: {from: [{all: [{header: X-Team}, {query: k}]}]}';
    const ignoring = 'key: {ignore_headers: [x-team]}';
    const message = 'key.ignore_headers[0]: x-team is a source of tenant.from, which always counts';
    expect(mistakes(`${tenant}\n${ignoring}`)).toEqual([`c.yaml:2: ${message}`]);
    expect(mistakes(`${ignoring}\npolicies:\n  a: {${tenant}}`)).toEqual([`c.yaml:3: policies.a.${message}`]);
  });
});

describe('an endpoint of the file', () => {
  const profile = (text: string): string => `profiles: [{name: mine, ${text}}]`;

  it('is like a known one, at its own path', () => {
    const [added] = read(profile('path: "**/gw/{model}/talk", like: openai-chat, model: path')).profiles;
    expect(added?.profile).toMatchObject({ errorShape: 'openai', model: { from: 'path' } });
    expect(added?.profile.name).toMatch(/^mine#[0-9a-f]{8}$/);
  });

  it('has another name in the key when it says something else', () => {
    const name = (text: string): string => read(profile(text)).profiles[0]?.profile.name ?? '';
    expect(name('path: /a, like: openai-chat')).not.toBe(name('path: /a, like: openai-chat, stream: true'));
  });

  it.each([
    ['path: /a, like: openai', 'profiles[0].like: "openai" is not allowed, expected one of'],
    ['path: a, like: openai-chat', 'profiles[0].path: "a" is not allowed'],
    ['path: "/a/*", like: openai-chat', 'profiles[0].path: "/a/*" is not allowed'],
    ['path: "**", like: openai-chat', 'is not allowed'],
    ['path: "/{model}/{model}", like: openai-chat, model: path', 'is not allowed'],
    ['path: "/{model}/a", like: openai-chat', 'profiles[0].path: names the model in two ways'],
    ['path: /a, like: openai-chat, model: path', 'profiles[0].path: names the model in two ways or in none'],
    ['path: /a, like: openai-chat, model: query', 'profiles[0].model: "query" is not allowed, expected path or'],
    [
      'path: /a, like: openai-chat, stream: maybe',
      'profiles[0].stream: "maybe" is not allowed, expected true, false or',
    ],
    ['path: /v1/chat/completions, like: openai-chat', 'some paths would be both of mine and of'],
    [
      'path: "**/completions", like: openai-chat',
      'profiles[0].path: overlaps: some paths would be both of mine and of',
    ],
    ['path: "/{model}/chat/completions", like: openai-chat, model: path', 'both of mine and of'],
  ])('%s is refused', (text, expected) => {
    const found = mistakes(profile(text));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(expected);
  });

  it('cannot overlap another one, nor have its name', () => {
    const two =
      'profiles: [{name: a, path: /x/chat, like: openai-chat}, {name: a, path: "**/chat", like: openai-chat}]';
    expect(mistakes(two)).toEqual([
      expect.stringMatching(/profiles\[1\].path: overlaps: some paths would be both of a and of/),
      'c.yaml:1: profiles[1].name: "a" is taken by another profile, expected one of its own',
    ]);
  });
});
