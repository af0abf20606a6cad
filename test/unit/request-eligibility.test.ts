/**
 * Eligibility: which requests are passed on as if nothing were here, each with its reason.
 */

import { describe, expect, it } from 'vitest';
import { screen, type Screening } from '../../src/coalesce/request/eligibility.ts';
import type { RequestHead } from '../../src/coalesce/request/head.ts';
import type { Policy } from '../../src/coalesce/request/policy.ts';
import { decide, keyOrReason, sampleBody, sampleHead, samplePolicy, withHeaders } from '../support/request-samples.ts';

const limit = 1000;

function screened(head: RequestHead, policy: Policy = samplePolicy()): Screening {
  return screen(head, { policy, maxRequestBytes: limit });
}

/** The reason, or the way in which the body is asked for. */
function screenedAs(head: RequestHead, policy?: Policy): string {
  const screening = screened(head, policy);
  return screening.kind === 'bypass' ? screening.reason : screening.body;
}

function withContentType(...values: string[]): RequestHead {
  return sampleHead({ headers: values.map((value) => ['content-type', value] as const) });
}

/** A request whose signature covers these headers. */
function signedOver(signedHeaders: string, acceptEncoding: string): RequestHead {
  const credential = 'Credential=A/20260101/r/s/aws4_request';
  return sampleHead({
    headers: [
      ['content-type', 'application/json'],
      ['accept-encoding', acceptEncoding],
      ['authorization', `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${signedHeaders}, Signature=1`],
    ],
  });
}

describe('the head alone', () => {
  it.each<[title: string, head: RequestHead, result: string]>([
    ['a body of unknown length', sampleHead(), 'buffered_partial'],
    ['a body within the limit', withHeaders(['content-length', '1000']), 'buffered'],
    ['a body over the limit', withHeaders(['content-length', '1001']), 'too_large'],
    ['a length that is no number', withHeaders(['content-length', '12x']), 'too_large'],
    ['a negative length', withHeaders(['content-length', '-1']), 'too_large'],
    ['a list of lengths', withHeaders(['content-length', '5, 5']), 'too_large'],
    ['two lengths', withHeaders(['content-length', '5'], ['content-length', '5']), 'too_large'],
    ['a length beyond all integers', withHeaders(['content-length', '9'.repeat(400)]), 'too_large'],
    ['a length of zero', withHeaders(['content-length', '0']), 'no_body'],
    ['a request that ends with its head', sampleHead({ bodyFollows: false }), 'no_body'],
    ['another path', sampleHead({ path: '/v1/models' }), 'not_llm'],
    ['a GET', sampleHead({ method: 'GET' }), 'not_llm'],
    ['a method in lower case', sampleHead({ method: 'post' }), 'not_llm'],
    ['a path with more behind', sampleHead({ path: '/v1/chat/completions/chatcmpl-1' }), 'not_llm'],
    ['a path with a slash behind', sampleHead({ path: '/v1/chat/completions/' }), 'not_llm'],
    ['a path that ends alike', sampleHead({ path: '/my-v1/chat/completions' }), 'not_llm'],
    ['the endpoint in the query only', sampleHead({ path: '/x?/v1/chat/completions' }), 'not_llm'],
    ['batches of messages', sampleHead({ path: '/v1/messages/batches' }), 'not_llm'],
    ['a job of embeddings', sampleHead({ path: '/v1beta/models/g:asyncBatchEmbedContent' }), 'not_llm'],
    ['an opt-out', withHeaders(['x-coalesce', 'never']), 'opt_out'],
    ['an opt-out in capitals', withHeaders(['x-coalesce', ' NEVER ']), 'opt_out'],
    ['an opt-out among other words', withHeaders(['x-coalesce', 'a'], ['x-coalesce', 'b, never']), 'opt_out'],
    ['another word for coalescing', withHeaders(['x-coalesce', 'always']), 'buffered_partial'],
    ['our own egress mark', withHeaders(['x-coalesce-flight', '']), 'egress_loop'],
    ['an upgrade', withHeaders(['upgrade', 'websocket']), 'upgrade'],
    ['a CONNECT', sampleHead({ method: 'CONNECT' }), 'upgrade'],
    ['no content type', sampleHead({ headers: [] }), 'content_type'],
    ['a form', withContentType('application/x-www-form-urlencoded'), 'content_type'],
    ['JSON with a suffix', withContentType('application/json-seq'), 'content_type'],
    ['two content types', withContentType('application/json', 'application/json'), 'content_type'],
    ['another charset', withContentType('application/json; charset=latin1'), 'content_type'],
    ['an unknown parameter', withContentType('application/json; v=2'), 'content_type'],
    ['the charset UTF-8', withContentType('Application/JSON;Charset="UTF-8"'), 'buffered_partial'],
    ['a compressed body', withHeaders(['content-encoding', 'gzip']), 'unsupported_encoding'],
    [
      'a body twice encoded',
      withHeaders(['content-encoding', 'identity'], ['content-encoding', 'br']),
      'unsupported_encoding',
    ],
    ['a signature over accept-encoding', signedOver('accept-encoding;host', 'gzip'), 'unsupported_encoding'],
    ['a signature over accept-encoding: identity', signedOver('accept-encoding;host', 'identity'), 'buffered_partial'],
    ['a signature over other headers', signedOver('host;x-amz-date', 'gzip'), 'buffered_partial'],
    ['an encoding of identity', withHeaders(['content-encoding', 'Identity']), 'buffered_partial'],
  ])('%s', (_, head, result) => {
    expect(screenedAs(head)).toBe(result);
  });

  it.each([
    ['/v1/chat/completions', 'openai-chat'],
    ['/openai/v1/chat/completions?api-version=1', 'openai-chat'],
    ['/v1beta/openai/chat/completions', 'openai-chat'],
    ['/v1/messages', 'anthropic-messages'],
    ['/anthropic/v1/messages?beta=true', 'anthropic-messages'],
  ])('knows %s', (path, profile) => {
    expect(screened(sampleHead({ path }))).toMatchObject({ kind: 'candidate', profile: { name: profile } });
  });

  it('is enough where the mode is off; shadow and enforce pass', () => {
    expect(screenedAs(sampleHead(), samplePolicy({ mode: 'off' }))).toBe('mode_off');
    expect(screenedAs(sampleHead(), samplePolicy({ mode: 'shadow' }))).toBe('buffered_partial');
  });

  it('asks for no metadata', () => {
    const metadata = (): never => {
      throw new Error('metadata was read');
    };
    expect(screenedAs(sampleHead({ metadata }))).toBe('buffered_partial');
  });
});

const chat = sampleHead();
const anthropic = sampleHead({ path: '/v1/messages' });
const allowing = samplePolicy({ tools: 'allow' });
const key = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown;
const tool = { type: 'function', function: { name: 'f' } };
const anthropicTool = { name: 'f', input_schema: {} };
const with_ = (changes: object): object => ({ ...sampleBody, ...changes });

describe('the body', () => {
  it.each<[title: string, body: unknown, result: unknown]>([
    ['no bytes at all', '', 'no_body'],
    ['no JSON', '{', 'unparseable'],
    ['no model', { messages: [], temperature: 0 }, 'unparseable'],
    ['an empty model', with_({ model: '' }), 'unparseable'],
    ['a model that is no string', with_({ model: 1 }), 'unparseable'],
    ['a stream that is no boolean', with_({ stream: 1 }), 'unparseable'],
    ['a stream that is null', with_({ stream: null }), 'unparseable'],
    ['a name that folds to a known one', with_({ STREAM: true }), 'unparseable'],
    ['a name that folds with a long s', with_({ '\u017ftore': true }), 'unparseable'],
    ['a name that folds with a Kelvin sign', with_({ 'top_\u212a': 1 }), 'unparseable'],
    ['an unknown name in capitals', with_({ SOMETHING: true }), key],
    ['no temperature', { model: 'm', messages: [] }, 'nondeterministic'],
    ['temperature 1', with_({ temperature: 1 }), 'nondeterministic'],
    ['temperature null', with_({ temperature: null }), 'nondeterministic'],
    ['temperature "0"', with_({ temperature: '0' }), 'nondeterministic'],
    ['temperature 0', sampleBody, key],
  ])('%s', (_, body, result) => {
    expect(keyOrReason(chat, body)).toEqual(result);
  });

  it.each<[title: string, changes: object, result: unknown]>([
    ['store', { store: true }, 'side_effects'],
    ['store as a word', { store: 'false' }, 'side_effects'],
    ['store: false', { store: false }, key],
    ['a web search', { web_search_options: {} }, 'side_effects'],
    ['audio', { audio: { voice: 'alloy' } }, 'side_effects'],
    ['the modality audio', { modalities: ['text', 'audio'] }, 'side_effects'],
    ['the modality text', { modalities: ['text'] }, key],
    ['data sources', { data_sources: [] }, 'side_effects'],
    ['transferred state', { kv_transfer_params: {} }, 'side_effects'],
    ['transferred encoder state', { ec_transfer_params: {} }, 'side_effects'],
    ['an unknown kind of tool', { tools: [tool, { type: 'retrieval' }] }, 'side_effects'],
    [
      'an unknown kind of tool, even where none is chosen',
      { tools: [{ type: 'mcp' }], tool_choice: 'none' },
      'side_effects',
    ],
    ['a tool without a type', { tools: [{ function: { name: 'f' } }] }, 'side_effects'],
    ['a tool with a type in another case', { tools: [{ type: 'function', Type: 'mcp' }] }, 'side_effects'],
    ['a tool that is no object', { tools: ['function'] }, 'side_effects'],
    ['tools that are no list', { tools: {} }, 'side_effects'],
    ['functions that are no list', { functions: {} }, 'side_effects'],
    ['a function', { tools: [tool] }, key],
    ['a custom tool', { tools: [{ type: 'custom', custom: {} }] }, key],
    ['an old function', { functions: [{ name: 'f' }] }, key],
  ])('of a chat completion with %s, where tools are allowed', (_, changes, result) => {
    expect(keyOrReason(chat, with_(changes), allowing)).toEqual(result);
  });

  it.each<[title: string, changes: object, result: unknown]>([
    ['a function', { tools: [tool] }, 'side_effects'],
    ['an old function', { functions: [{ name: 'f' }] }, 'side_effects'],
    ['a function that may not be called', { tools: [tool], tool_choice: 'none' }, key],
    ['a function that may be called', { tools: [tool], tool_choice: 'auto' }, 'side_effects'],
    ['no tools', { tools: [] }, key],
    ['null for tools', { tools: null, functions: null }, key],
  ])('of a chat completion with %s, where tools bypass', (_, changes, result) => {
    expect(keyOrReason(chat, with_(changes))).toEqual(result);
  });

  it.each<[title: string, changes: object, result: unknown]>([
    ['MCP servers', { mcp_servers: [{}] }, 'side_effects'],
    ['a container', { container: 'c' }, 'side_effects'],
    ['a thread', { thread: {} }, 'side_effects'],
    ['a fallback credit', { fallback_credit_token: 't' }, 'side_effects'],
    ...[
      'web_search_20250305',
      'web_fetch_20250910',
      'code_execution_20250825',
      'bash_20250124',
      'computer_20250124',
      'mcp_toolset',
    ].map((type): [string, object, unknown] => [
      `a tool ${type}`,
      { tools: [anthropicTool, { type, name: 'x' }] },
      'side_effects',
    ]),
    ['a tool with an ambiguous type', { tools: [{ ...anthropicTool, TYPE: 'bash_20250124' }] }, 'side_effects'],
    ['a tool without a type', { tools: [anthropicTool] }, key],
    ['a custom tool', { tools: [{ ...anthropicTool, type: 'custom' }] }, key],
    ['thinking', { thinking: { type: 'enabled', budget_tokens: 1024 } }, 'nondeterministic'],
    ['adaptive thinking', { thinking: { type: 'adaptive' } }, 'nondeterministic'],
    ['thinking that is ambiguous', { thinking: { type: 'disabled', Type: 'enabled' } }, 'nondeterministic'],
    ['thinking turned off', { thinking: { type: 'disabled' } }, key],
  ])('of a message with %s, where tools are allowed', (_, changes, result) => {
    expect(keyOrReason(anthropic, with_(changes), allowing)).toEqual(result);
  });

  it.each<[title: string, changes: object, result: unknown]>([
    ['a tool', { tools: [anthropicTool] }, 'side_effects'],
    ['a tool that may not be used', { tools: [anthropicTool], tool_choice: { type: 'none' } }, key],
    ['a tool that may be used', { tools: [anthropicTool], tool_choice: { type: 'auto' } }, 'side_effects'],
    ['an ambiguous choice', { tools: [anthropicTool], tool_choice: { type: 'none', TYPE: 'any' } }, 'side_effects'],
  ])('of a message with %s, where tools bypass', (_, changes, result) => {
    expect(keyOrReason(anthropic, with_(changes))).toEqual(result);
  });

  it('counts a seed only where the policy takes seeds', () => {
    const seeded = samplePolicy({ sampling: 'seeded' });
    const body = (seed: unknown): object => with_({ temperature: 0.7, seed });
    expect(keyOrReason(chat, body(42))).toBe('nondeterministic');
    expect(keyOrReason(chat, body(42), seeded)).toEqual(key);
    expect(keyOrReason(chat, with_({ temperature: 0.7, random_seed: 7 }), seeded)).toEqual(key);
    expect(keyOrReason(chat, body(null), seeded)).toBe('nondeterministic');
    expect(keyOrReason(chat, body('42'), seeded)).toBe('nondeterministic');
    expect(keyOrReason(chat, body(-1), seeded)).toBe('nondeterministic');
    expect(keyOrReason(anthropic, body(42), seeded)).toBe('nondeterministic');
  });

  it('may sample where the policy takes anything', () => {
    const any = samplePolicy({ sampling: 'any' });
    expect(keyOrReason(chat, { model: 'm', messages: [] }, any)).toEqual(key);
    expect(keyOrReason(anthropic, with_({ thinking: { type: 'enabled' } }), any)).toEqual(key);
  });

  it('without a tenant is passed on', () => {
    const head = withContentType('application/json');
    expect(keyOrReason(head, sampleBody)).toBe('no_tenant');
  });
});

describe('an eligible request', () => {
  it('names its model and the manner of its errors', () => {
    expect(decide(chat, sampleBody)).toMatchObject({ kind: 'eligible', model: 'gpt-4o-mini', errorShape: 'openai' });
    expect(decide(anthropic, sampleBody)).toMatchObject({ errorShape: 'anthropic' });
  });

  it('names the model that its path names, as it reads', () => {
    const tenant = { from: [], anonymous: 'share' } as const;
    const modelIn = (path: string): unknown =>
      decide(sampleHead({ path }), '{"messages":[]}', samplePolicy({ tenant, sampling: 'any' }));
    expect(modelIn('/model/anthropic.claude%3A0/converse')).toMatchObject({ model: 'anthropic.claude:0' });
    expect(modelIn('/model/broken%3/converse')).toMatchObject({ model: 'broken%3' });
    expect(modelIn('/openai/deployments/d/chat/completions?api-version=1')).toMatchObject({ model: 'd' });
    expect(modelIn('/v1beta/models/g:generateContent')).toMatchObject({ model: 'g', errorShape: 'gemini' });
  });

  it('has a digest of its raw body beside the key', () => {
    const compact = decide(chat, JSON.stringify(sampleBody));
    const indented = decide(chat, JSON.stringify(sampleBody, null, 2));
    if (compact.kind !== 'eligible' || indented.kind !== 'eligible') throw new Error('not eligible');
    expect(indented.key).toBe(compact.key);
    expect(indented.rawDigest).not.toBe(compact.rawDigest);
    expect(decide(chat, JSON.stringify(sampleBody))).toEqual(compact);
  });
});
