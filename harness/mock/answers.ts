/**
 * The answers of the mock LLM: OpenAI chat completions and Anthropic messages, whole or as server-sent events. The text
 * depends on the prompt alone; the call's number is in the ids, so that a reader can tell which call the bytes came from.
 * When and how the bytes are sent is left to mock-llm.ts.
 */
import { createHash } from 'node:crypto';
import type { MockScript } from './script.ts';

/** A body that is ready to be sent: its type, and its chunks in order. */
export type Answer = { readonly contentType: string; readonly chunks: readonly Buffer[] };

type Prompt = {
  readonly model: string;
  readonly stream: boolean;
  readonly digest: string;
  readonly promptTokens: number;
  readonly includeUsage: boolean;
};

/** The answer to a request body, in the shape that the path asks for. */
export function answerFor(options: { path: string; body: Buffer; callId: number; script: MockScript }): Answer {
  const prompt = readPrompt(options.body);
  const tokens = tokensFor(prompt.digest, options.script);
  const shape = options.path.includes('/messages') ? anthropic : openai;
  if (prompt.stream) return { contentType: 'text/event-stream', chunks: shape.events(prompt, tokens, options.callId) };
  const json = Buffer.from(JSON.stringify(shape.whole(prompt, tokens, options.callId)));
  return { contentType: 'application/json', chunks: [json] };
}

/** The text that the mock answers to a request body: what a client should have put together at the end. */
export function textFor(body: Buffer | string, script: Pick<MockScript, 'tokens' | 'tokenBytes'>): string {
  return tokensFor(readPrompt(Buffer.from(body)).digest, script).join('');
}

function readPrompt(body: Buffer): Prompt {
  const parsed = parse(body);
  const usage = parsed['stream_options'];
  return {
    model: typeof parsed['model'] === 'string' ? parsed['model'] : 'mock',
    stream: parsed['stream'] === true,
    digest: createHash('sha256')
      .update(JSON.stringify(parsed['messages'] ?? body.toString('latin1')))
      .digest('hex'),
    promptTokens: Math.ceil(body.length / 4),
    includeUsage:
      typeof usage === 'object' && usage !== null && 'include_usage' in usage && usage.include_usage === true,
  };
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // The upstream is as lenient as it can be: what is no JSON is answered like an empty prompt.
    return {};
  }
}

function tokensFor(digest: string, { tokens, tokenBytes }: Pick<MockScript, 'tokens' | 'tokenBytes'>): string[] {
  return Array.from({ length: tokens }, (_, index) => {
    const at = (index * 4) % (digest.length - 3);
    return `${digest.slice(at, at + 4)}.${index} `.padEnd(tokenBytes, 'x');
  });
}

const created = 1_750_000_000;

const openai = {
  whole(prompt: Prompt, tokens: readonly string[], callId: number): object {
    const message = { role: 'assistant', content: tokens.join(''), refusal: null };
    return {
      id: `chatcmpl-${callId}`,
      object: 'chat.completion',
      created,
      model: prompt.model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: openaiUsage(prompt, tokens),
    };
  },

  events(prompt: Prompt, tokens: readonly string[], callId: number): Buffer[] {
    const chunk = (choices: readonly object[], usage?: object): Buffer =>
      Buffer.from(
        `data: ${JSON.stringify({ id: `chatcmpl-${callId}`, object: 'chat.completion.chunk', created, model: prompt.model, choices, usage })}\n\n`,
      );
    const delta = (content: object, finish: string | null): object => ({
      index: 0,
      delta: content,
      finish_reason: finish,
    });
    const end = [chunk([delta({}, 'stop')]), ...(prompt.includeUsage ? [chunk([], openaiUsage(prompt, tokens))] : [])];
    const role = chunk([delta({ role: 'assistant', content: '' }, null)]);
    const texts = tokens.map((content) => chunk([delta({ content }, null)]));
    return glueEnds([role], texts, [...end, Buffer.from('data: [DONE]\n\n')]);
  },
};

const anthropic = {
  whole(prompt: Prompt, tokens: readonly string[], callId: number): object {
    return {
      id: `msg_${callId}`,
      type: 'message',
      role: 'assistant',
      model: prompt.model,
      content: [{ type: 'text', text: tokens.join('') }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: prompt.promptTokens, output_tokens: tokens.length },
    };
  },

  events(prompt: Prompt, tokens: readonly string[], callId: number): Buffer[] {
    const event = (data: { type: string } & Record<string, unknown>): Buffer =>
      Buffer.from(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
    const usage = { input_tokens: prompt.promptTokens, output_tokens: 0 };
    const message = { ...anthropic.whole(prompt, [], callId), content: [], stop_reason: null, usage };
    const start = [
      event({ type: 'message_start', message }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      event({ type: 'ping' }),
    ];
    const texts = tokens.map((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    );
    const delta = { stop_reason: 'end_turn', stop_sequence: null };
    const end = [
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_delta', delta, usage: { output_tokens: tokens.length } }),
      event({ type: 'message_stop' }),
    ];
    return glueEnds(start, texts, end);
  },
};

function openaiUsage(prompt: Prompt, tokens: readonly string[]): object {
  const total = prompt.promptTokens + tokens.length;
  return { prompt_tokens: prompt.promptTokens, completion_tokens: tokens.length, total_tokens: total };
}

/** One chunk per token: what comes before the first and after the last goes with it, as one write. */
function glueEnds(start: readonly Buffer[], texts: readonly Buffer[], end: readonly Buffer[]): Buffer[] {
  if (texts.length === 0) return [Buffer.concat([...start, ...end])];
  return texts.map((text, index) =>
    Buffer.concat([...(index === 0 ? start : []), text, ...(index === texts.length - 1 ? end : [])]),
  );
}
