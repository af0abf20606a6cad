/** explain: what it prints is what is in test/data/explain, and its keys are those of the processor. */

import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import type { CommandResult } from '../../src/cli/check.ts';
import { explain, type ExplainOptions } from '../../src/cli/explain.ts';
import { keyOrReason, sampleBody, sampleHead } from '../support/request-samples.ts';
import { defaultConfig } from '../../src/config/read.ts';

const folder = new URL('../data/explain/', import.meta.url);
const secret = 'a secret of more than thirty-two bytes';

/** Paths are those of the test's data; what is not there is a text of its own. */
function run(
  requests: readonly string[],
  options: Partial<ExplainOptions> = {},
  texts: Record<string, string> = {},
): CommandResult {
  const readFile = (path: string): Uint8Array => {
    const text = texts[path];
    return text === undefined ? readFileSync(new URL(path, folder)) : Buffer.from(text);
  };
  const whole = { config: 'config.yaml', policy: null, json: false, requests, ...options };
  return explain(whole, { readFile, readStdin: () => Buffer.from(texts['-'] ?? '') });
}

function golden(name: string): string {
  return `../data/explain/${name}`;
}

interface Line {
  readonly outcome: string;
  readonly reason: string | null;
  readonly key: string | null;
  readonly tenant_source: string | null;
  readonly differs?: { readonly part: string; readonly what: string } | null;
}

function lines(result: CommandResult): Line[] {
  expect(result).toMatchObject({ exitCode: 0, stderr: '' });
  return result.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

describe('explain', () => {
  it('says what is in the key and what is not', async () => {
    const { stdout, exitCode } = run(['requests/sdk.http']);
    expect(exitCode).toBe(0);
    await expect(stdout).toMatchFileSnapshot(golden('sdk.txt'));
  });

  it('says of two in what they differ', async () => {
    await expect(run(['requests/two.har']).stdout).toMatchFileSnapshot(golden('two.txt'));
  });

  it('gives a reason for each bypass', async () => {
    await expect(run(['requests/many.jsonl']).stdout).toMatchFileSnapshot(golden('many.txt'));
    expect(lines(run(['requests/many.jsonl'], { json: true })).map(({ outcome, reason }) => reason ?? outcome)).toEqual(
      [
        'eligible',
        'opt_out',
        'not_llm',
        'content_type',
        'no_body',
        'no_tenant',
        'unparseable',
        'unsupported_encoding',
        'side_effects',
        'nondeterministic',
        'eligible',
        'eligible',
        'no_tenant',
      ],
    );
  });

  it('prints one line of JSON for each request', async () => {
    await expect(run(['requests/two.har'], { json: true }).stdout).toMatchFileSnapshot(golden('two.jsonl'));
  });

  it('reads one request in all notations alike', () => {
    const chat = { model: 'm', temperature: 0, messages: [] };
    const body = JSON.stringify(chat);
    const headers = { host: 'h', 'x-a': ['1', '2'], 'content-type': 'application/json', authorization: 'Bearer x' };
    const pairs = [
      ['X-A', '1'],
      ['X-A', '2'],
      ['Content-Type', 'application/json'],
      ['Authorization', 'Bearer x'],
    ];
    const named = { method: 'POST', path: '/v1/chat/completions' };
    const har = {
      method: 'POST',
      url: 'http://h/v1/chat/completions#f',
      headers: pairs.map(([name, value]) => ({ name, value })),
    };
    const raw = `POST /v1/chat/completions HTTP/1.1\nHost: h\n${pairs.map((pair) => pair.join(':')).join('\n')}\n\n${body}`;
    const texts = [
      JSON.stringify({ ...named, headers, body }),
      JSON.stringify([{ ...named, headers, body: chat }]),
      JSON.stringify({ ...named, authority: 'h', headers: pairs, body_base64: Buffer.from(body).toString('base64') }),
      JSON.stringify({ log: { entries: [{ request: { ...har, postData: { text: body } } }] } }),
      JSON.stringify({
        request: { ...har, postData: { text: Buffer.from(body).toString('base64'), encoding: 'base64' } },
      }),
      raw,
      `\n${raw.replaceAll('\n', '\r\n')}\r\n`,
    ];
    const keys = texts.map((text) => lines(run([], { json: true }, { '-': text }))[0]?.key);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(keys).size).toBe(1);
  });

  it('makes one key of two notations of one request, chunked or not', () => {
    const [left, right] = lines(run(['requests/sdk.http', 'requests/chunked.http'], { json: true }));
    expect(right?.differs).toMatchObject({ part: 'include' });
    const same = lines(run(['requests/sdk.http', 'requests/chunked.http'], { json: true, policy: 'shadowed' }));
    expect(same[1]).toMatchObject({ differs: null, key: same[0]?.key });
    expect(left?.key).not.toBe(same[0]?.key);
  });

  it('never prints a credential', () => {
    const files = ['requests/sdk.http', 'requests/chunked.http', 'requests/two.har', 'requests/many.jsonl'];
    const team = '{"tenant":{"from":[{"header":"x-team"}]}}';
    for (const json of [true, false]) {
      for (const policy of [null, team]) {
        const { stdout } = run(files, { json, policy });
        expect(stdout).not.toMatch(/a-secret|another-secret|a-long-credential/);
        if (policy !== null) expect(stdout).not.toContain('blue');
      }
    }
  });

  it('gives the key of the processor under the same secret, and another one without', () => {
    const head = sampleHead();
    const request = {
      method: head.method,
      path: head.path,
      authority: head.authority,
      headers: head.headers,
      body: sampleBody,
    };
    const texts = { 'c.yaml': `key: {secret: ${secret}}`, '-': JSON.stringify(request) };
    const [withSecret] = lines(run([], { config: 'c.yaml', json: true }, texts));
    const [without] = lines(run([], { config: null, json: true }, texts));
    const { policy } = defaultConfig();
    expect(withSecret?.key).toBe(keyOrReason(head, sampleBody, policy, Buffer.from(secret)));
    expect(without?.key).not.toBe(withSecret?.key);
  });

  it.each([
    ['a member of the body', { body: { ...sampleBody, seed: 1 } }, 'body', '/seed: only in the second'],
    [
      'a value in the body',
      { body: { ...sampleBody, model: 'other' } },
      'body',
      '/model: "gpt-4o-mini" against "other"',
    ],
    ['a message', { body: { ...sampleBody, messages: [] } }, 'body', '/messages/0: only in the first'],
    [
      'a header',
      { headers: { 'content-type': 'application/json', authorization: 'Bearer sample', 'x-a': '1' } },
      'headers',
      'x-a: absent against 1',
    ],
    [
      'a tenant',
      { headers: { 'content-type': 'application/json', authorization: 'Bearer other' } },
      'tenant',
      'another value of header:authorization',
    ],
    [
      'a source of the tenant',
      { headers: { 'content-type': 'application/json', 'x-api-key': 'k' } },
      'tenant',
      'header:authorization against header:x-api-key',
    ],
    ['a path', { path: '/a/v1/chat/completions' }, 'path', ''],
    ['a query', { path: '/v1/chat/completions?a=1' }, 'query', ''],
    ['a decision', { path: '/v1/models' }, 'decision', 'eligible against bypass (not_llm)'],
  ])('names %s as the first difference', (_, changes, part, what) => {
    const head = sampleHead();
    const base = { method: 'POST', path: head.path, headers: head.headers, body: sampleBody };
    const text = JSON.stringify([base, { ...base, ...changes }]);
    const [, second] = lines(run([], { config: null, json: true }, { '-': text }));
    expect(second?.differs?.part).toBe(part);
    expect(second?.differs?.what).toContain(what);
  });

  it('says where mode or rollout keep an eligible request from being shared', () => {
    const texts = {
      '-': JSON.stringify({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: sampleHead().headers,
        body: sampleBody,
      }),
    };
    expect(run([], { policy: 'shadowed' }, texts).stdout).toContain('eligible, but mode: shadow only counts it');
    expect(run([], { policy: 'tenth' }, texts).stdout).toContain('eligible, but outside the rollout of 0 %');
    expect(run([], { policy: '{"mode":"off"}' }, texts).stdout).toContain('bypass, mode_off');
  });

  it.each([
    [{ config: 'bad.yaml' }, 78, 'bad.yaml:1: mode: "on" is not allowed'],
    [{ config: 'none.yaml' }, 78, 'none.yaml:1: (document): cannot be read'],
    [{ policy: 'unknown' }, 64, '--policy: no policy of the name "unknown"'],
    [{ requests: ['none.http'] }, 64, 'none.http: ENOENT'],
    [{ requests: ['words'] }, 64, 'words: neither JSON nor HTTP'],
    [{ requests: ['broken'] }, 64, 'broken: neither JSON nor lines of JSON (line 2)'],
    [{ requests: ['empty'] }, 64, 'empty: holds no request'],
    [{ requests: ['nameless'] }, 64, 'nameless: request 1: expected method and path as texts'],
  ])('%j ends with %i', (options, exitCode, message) => {
    const texts = {
      'bad.yaml': 'mode: on',
      words: 'just words\n',
      broken: '{}\n{',
      empty: '[]',
      nameless: '{"method":"GET"}',
    };
    const result = run([], options, texts);
    expect(result).toMatchObject({ exitCode, stdout: '' });
    expect(result.stderr).toContain(message);
  });

  it.each<[object, string | null]>([
    [{ store: true }, '/store: keeps the completion'],
    [{ tools: [{ type: 'function' }] }, '/tools: functions, which tools: allow lets pass'],
    [{ tools: [{ type: 'web_search' }] }, '/tools: a tool that the provider runs, or of an unknown kind'],
    [{ temperature: undefined }, '/temperature: absent'],
    [{ temperature: 1 }, '/temperature: not 0'],
    [{ temperature: 1, seed: 7 }, '/temperature: not 0, and a seed counts only with sampling: seeded'],
    [{ model: undefined }, null],
  ])('names the member that is the reason: %j', (changes, detail) => {
    const request = JSON.stringify({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { host: 'h', authorization: 'Bearer k', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [], temperature: 0, ...changes }),
    });
    const [line] = lines(run([], { json: true, config: null }, { '-': request }));
    expect(line).toMatchObject({ outcome: 'bypass', detail });
  });
});
