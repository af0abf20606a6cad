/**
 * What a caller got, and whether it is whole: its role as `cache-status` tells it, and the text that a chat client would
 * put together from the events.
 */
import { type Exchange, type Sent } from '../harness/http-client.ts';
import { type MockCall, textFor } from '../harness/mock-llm.ts';
import { type Prompt, requestFor } from './prompts.ts';

/** A request under way, and what it asks. */
export type Asked = { readonly prompt: Prompt; readonly sent: Sent };

/** A request that is over. */
export type Answered = { readonly prompt: Prompt; readonly exchange: Exchange };

/** `alone`: the answer does not say that we had a part in it. */
export type Role = 'leader' | 'follower' | 'alone';

export function roleOf(exchange: Exchange): Role {
  const status = exchange.headers['cache-status'] ?? '';
  if (!status.startsWith('coalescer;')) return 'alone';
  return /;\s*collapsed\b/.test(status) ? 'follower' : 'leader';
}

/** Waits until all are over, however they ended. */
export function answered(asked: readonly Asked[]): Promise<Answered[]> {
  return Promise.all(asked.map(async ({ prompt, sent }) => ({ prompt, exchange: await sent.done })));
}

/**
 * Whether the caller has the whole answer to its own prompt: a clean end, the text that the mock answers to this prompt,
 * and byte for byte what the mock sent in one of these calls.
 */
export function isWhole({ prompt, exchange }: Answered, calls: readonly MockCall[]): boolean {
  const request = requestFor(prompt);
  const wanted = textFor(request.body, { tokens: prompt.tokens, tokenBytes: 0 });
  return (
    exchange.status === 200 &&
    exchange.ending === 'complete' &&
    textOf(exchange.body) === wanted &&
    calls.some((call) => Buffer.concat(call.sent).equals(exchange.body))
  );
}

/** The text of a stream of either shape, up to where it has come. */
export function textOf(body: Buffer): string {
  return tokensOf(body).join('');
}

/** The same, token by token. */
export function tokensOf(body: Buffer): string[] {
  const whole = body.toString().split('\n\n').slice(0, -1);
  return whole.flatMap((event) => {
    const data = /^data: (\{.*)$/m.exec(event)?.[1];
    return data === undefined ? [] : tokenOf(JSON.parse(data) as StreamEvent);
  });
}

/** What either shape's event may carry of the text. */
type StreamEvent = {
  readonly choices?: ReadonlyArray<{ readonly delta?: { readonly content?: string } }>;
  readonly delta?: { readonly text?: string };
};

function tokenOf(event: StreamEvent): string[] {
  const text = event.delta?.text ?? event.choices?.[0]?.delta?.content ?? '';
  return text === '' ? [] : [text];
}
