/** The providers' own clients, unchanged, through Envoy: two identical calls at once are one call and equal answers. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { textFor } from '../../harness/mock-llm.ts';
import { withInlinePolicy } from '../support/envoy-policy.ts';
import { SharedStack } from '../support/shared-stack.ts';

const legs = ['attached', 'detached'] as const;
const model = 'mock-1';

function messagesOf(prompt: string): [{ role: 'user'; content: string }] {
  return [{ role: 'user', content: prompt }];
}

/** What the mock answers to the first call of the test. */
function answerText(shared: SharedStack): string {
  return textFor(shared.calls[0]?.body ?? '', { tokens: 10, tokenBytes: 0 });
}

/** Makes the same call twice in one flight. */
async function twice<Answer>(shared: SharedStack, call: () => Promise<Answer>): Promise<[Answer, Answer]> {
  const pacer = shared.pacedAnswer();
  const both = [call(), call()] as const;
  await shared.waitForJoins(1);
  pacer.openAll();
  const answers = await Promise.all(both);
  expect(shared.calls).toHaveLength(1);
  return answers;
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe.each(legs)('openai, %s', (leg) => {
  const shared = new SharedStack({ leg });
  const client = (): OpenAI =>
    new OpenAI({ baseURL: `${shared.stack.ingress.url}/v1`, apiKey: 'test-key', maxRetries: 0 });

  test('a whole answer', async () => {
    const create = (): Promise<OpenAI.ChatCompletion> =>
      client().chat.completions.create({ model, messages: messagesOf('whole'), temperature: 0 });
    const [first, second] = await twice(shared, async () => create());
    expect(second).toEqual(first);
    expect(first.choices[0]?.message.content).toBe(answerText(shared));
  });

  test('a stream', async () => {
    const [first, second] = await twice(shared, async () =>
      collect(
        await client().chat.completions.create({ model, messages: messagesOf('stream'), temperature: 0, stream: true }),
      ),
    );
    expect(second).toEqual(first);
    expect(first.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(answerText(shared));
  });

  test('an error is the provider’s to both', async () => {
    const error = Buffer.from(JSON.stringify({ error: { message: 'no such model', type: 'invalid_request_error' } }));
    const call = async (): Promise<unknown> =>
      client()
        .chat.completions.create({ model, messages: messagesOf('error'), temperature: 0 })
        .then(
          () => 'no error',
          (thrown: unknown) => thrown,
        );
    const pacer = shared.pacedAnswer({ status: 404, body: [error], headers: [['content-type', 'application/json']] });
    const both = [call(), call()];
    await shared.waitForJoins(1);
    pacer.openAll();
    for (const thrown of await Promise.all(both)) expect(thrown).toBeInstanceOf(OpenAI.NotFoundError);
    expect(shared.calls).toHaveLength(1);
  });

  test('a follower that aborts leaves the others their stream', async () => {
    const pacer = shared.pacedAnswer({ tokens: 3 });
    const controller = new AbortController();
    const stream = (signal?: AbortSignal) =>
      client().chat.completions.create(
        { model, messages: messagesOf('abort'), temperature: 0, stream: true },
        signal === undefined ? {} : { signal },
      );
    const stays = stream();
    await pacer.reached('head');
    const leaves = stream(controller.signal);
    await shared.waitForJoins(1);
    pacer.open('head', 0);
    const seen = (await leaves)[Symbol.asyncIterator]();
    expect((await seen.next()).done).toBe(false);
    controller.abort();
    await shared.waitForCount('coalesce_cancellations_total{role="follower"}', 1);
    pacer.openAll();
    const whole = await collect(await stays);
    expect(whole.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
      textFor(shared.calls[0]?.body ?? '', { tokens: 3, tokenBytes: 0 }),
    );
    expect(shared.calls).toHaveLength(1);
  });
});

// Newer models take no temperature, so newer clients send none.
describe.each(legs)('%s, with sampling any', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: withInlinePolicy('{"sampling":"any"}') });
  const baseURL = (): string => `${shared.stack.ingress.url}/v1`;
  const anthropic = (): Anthropic =>
    new Anthropic({ baseURL: shared.stack.ingress.url, apiKey: 'test-key', maxRetries: 0 });

  test('@anthropic-ai/sdk, a whole answer', async () => {
    const create = (): Promise<Anthropic.Message> =>
      anthropic().messages.create({ model, max_tokens: 100, messages: messagesOf('whole') });
    const [first, second] = await twice(shared, async () => create());
    expect(second).toEqual(first);
    expect(first.content).toEqual([{ type: 'text', text: answerText(shared) }]);
  });

  test('@anthropic-ai/sdk, the events of a stream', async () => {
    const events = async (): Promise<Anthropic.MessageStreamEvent[]> =>
      collect(anthropic().messages.stream({ model, max_tokens: 100, messages: messagesOf('stream') }));
    const [first, second] = await twice(shared, events);
    expect(second).toEqual(first);
    expect(first.at(0)?.type).toBe('message_start');
    expect(first.at(-1)?.type).toBe('message_stop');
  });

  const providers = [
    ['@ai-sdk/openai', () => createOpenAI({ baseURL: baseURL(), apiKey: 'test-key' }).chat(model)],
    ['@ai-sdk/anthropic', () => createAnthropic({ baseURL: baseURL(), apiKey: 'test-key' })(model)],
  ] as const;

  test.each(providers)('ai with %s, a whole answer', async (name, languageModel) => {
    const [first, second] = await twice(shared, async () => {
      const { text, usage, finishReason } = await generateText({
        model: languageModel(),
        prompt: `${name} whole`,
        maxOutputTokens: 100,
        maxRetries: 0,
      });
      return { text, usage, finishReason };
    });
    expect(second).toEqual(first);
    expect(first.text).toBe(answerText(shared));
  });

  test.each(providers)('ai with %s, a stream', async (name, languageModel) => {
    const [first, second] = await twice(shared, () =>
      collect(
        streamText({ model: languageModel(), prompt: `${name} stream`, maxOutputTokens: 100, maxRetries: 0 })
          .textStream,
      ),
    );
    expect(second).toEqual(first);
    expect(first.join('')).toBe(answerText(shared));
  });
});
