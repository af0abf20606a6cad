/** Which requests never share, tried in pairs that are in flight at the same time. */
import { describe, expect, test } from 'vitest';
import { begin, type ClientRequest } from '../../harness/http-client.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

type Options = NonNullable<Parameters<SharedStack['chat']>[1]>;

/** A pair of requests with the same prompt that are told apart by this alone. */
type Pair = readonly [what: string, first: Options, second: Options];

const apart: readonly Pair[] = [
  ['the credential', { credential: 'tenant-a' }, { credential: 'tenant-b' }],
  ['an API key of Anthropic', { api: 'anthropic', credential: 'a' }, { api: 'anthropic', credential: 'b' }],
  ['the endpoint', { api: 'openai' }, { api: 'anthropic' }],
  ['the model', { body: { model: 'mock-1' } }, { body: { model: 'mock-2' } }],
  ['the prompt', {}, { body: { messages: [{ role: 'user', content: 'another' }] } }],
  ['whether the answer streams', { body: { stream: true } }, { body: { stream: false } }],
  ['the token limit', { body: { max_tokens: 10 } }, { body: { max_tokens: 11 } }],
  ['an unknown member', {}, { body: { x_unheard_of: 1 } }],
  ['an unknown header', {}, { headers: { 'x-unheard-of': '1' } }],
  ['an organisation', { headers: { 'openai-organization': 'a' } }, { headers: { 'openai-organization': 'b' } }],
  ['a nonce', { headers: { 'x-coalesce-nonce': '1' } }, { headers: { 'x-coalesce-nonce': '2' } }],
  ['a context', { headers: { 'x-coalesce-context': '1' } }, { headers: { 'x-coalesce-context': '2' } }],
  ['the authority', { headers: { host: 'a.example' } }, { headers: { host: 'b.example' } }],
  ['the end user', { body: { user: 'a' } }, { body: { user: 'b' } }],
];

const toolCall = { type: 'function', function: { name: 'act', parameters: { type: 'object' } } };

/** Requests that share with nobody, not even with their like. */
const alone: ReadonlyArray<readonly [what: string, options: Options, reason: string]> = [
  ['an opt-out', { headers: { 'x-coalesce': 'never' } }, 'opt_out'],
  ['an opt-out in capitals', { headers: { 'x-coalesce': 'NEVER' } }, 'opt_out'],
  ['no temperature', { body: { temperature: undefined } }, 'nondeterministic'],
  ['a temperature of 1', { body: { temperature: 1 } }, 'nondeterministic'],
  ['no temperature on Anthropic', { api: 'anthropic', body: { temperature: undefined } }, 'nondeterministic'],
  ['tools', { body: { tools: [toolCall] } }, 'side_effects'],
  ['a completion to be stored', { body: { store: true } }, 'side_effects'],
];

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg });

  /** Both are upstream at once, and each has the answer of its own call. */
  async function expectApart(requests: readonly ClientRequest[]): Promise<void> {
    const pacer = shared.pacedAnswer();
    const sent = requests.map(begin);
    await shared.waitForCalls(requests.length);
    pacer.openAll();
    const exchanges = await allDone(sent);
    for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
    expect(new Set(exchanges.map(({ body }) => body.toString())).size).toBe(requests.length);
    expect(shared.calls).toHaveLength(requests.length);
    expect(await shared.counted('coalesce_hits_total')).toBe(0);
  }

  test.each(apart)('requests that differ in %s', (what, first, second) =>
    expectApart([shared.chat(what, first), shared.chat(what, second)]),
  );

  test.each(alone)('two requests with %s', async (what, options, reason) => {
    const request = shared.chat(what, options);
    await expectApart([request, request]);
    await shared.waitForCount(`coalesce_bypass_total{reason="${reason}"}`, 2);
  });

  test('two requests without a credential', async () => {
    const { authorization: _, ...headers } = shared.chat('nobody').headers as Record<string, string>;
    const request = { ...shared.chat('nobody'), headers };
    await expectApart([request, request]);
    await shared.waitForCount('coalesce_bypass_total{reason="no_tenant"}', 2);
  });

  test('requests that differ in the query', () =>
    expectApart(
      ['a', 'b'].map((value) => ({ ...shared.chat('query'), path: `/v1/chat/completions?version=${value}` })),
    ));

  test('telemetry and request ids do not part requests', async () => {
    const traced = (id: string): ClientRequest =>
      shared.chat('traced', {
        headers: { 'x-request-id': id, traceparent: `00-${id}`, 'user-agent': id, 'x-stainless-retry-count': id },
      });
    const exchanges = await allDone(await shared.fly([traced('1'), traced('2')]));
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0]);
  });
});
