/**
 * A raw HTTP client for tests and bench: it hides nothing. It sends a request over HTTP/1.1 or HTTP/2 and records what
 * arrives and when, and how it ended. What the two protocols differ in is in client/.
 */
import { sendHttp1 } from './client/http1.ts';
import { sendHttp2 } from './client/http2.ts';
import type { ClientRequest } from './client/request.ts';
import { type Exchange, Recording } from './client/recording.ts';

export type { Chunk, Ending, Exchange } from './client/recording.ts';
export type { ClientRequest } from './client/request.ts';
export { openSession } from './client/http2.ts';

/** A request under way. */
export type Sent = {
  /** Resolves with the status when the head arrives; with 0 where the exchange ends without one. */
  readonly head: Promise<number>;
  /** Resolves when the exchange is over, however it ended; never rejects. */
  readonly done: Promise<Exchange>;
  /** What has arrived up to now. */
  soFar(): Exchange;
  /** Resolves when so many bytes of the body have arrived; rejects where the exchange ends before. */
  waitForBytes(count: number): Promise<void>;
  /** Resolves when the body holds this text; rejects where the exchange ends before. */
  waitForText(text: string): Promise<void>;
  /** Hangs up. The exchange ends as `left`. */
  leave(): void;
};

/** Begins a request. */
export function begin(request: ClientRequest): Sent {
  const recording = new Recording();
  const leave = request.version === 2 ? sendHttp2(request, recording) : sendHttp1(request, recording);
  return {
    head: recording.head,
    done: recording.done,
    soFar: () => recording.soFar(),
    waitForBytes: (count) => recording.waitFor((body) => body.length >= count, `${count} bytes`),
    waitForText: (text) => recording.waitFor((body) => body.includes(text), JSON.stringify(text)),
    leave: () => {
      recording.finish('left');
      leave();
    },
  };
}

/** Sends a request and waits for its end. */
export function send(request: ClientRequest): Promise<Exchange> {
  return begin(request).done;
}

/** Begins `count` requests at once; the request may depend on its index. */
export function burst(count: number, request: ClientRequest | ((index: number) => ClientRequest)): Sent[] {
  return Array.from({ length: count }, (_, index) => begin(typeof request === 'function' ? request(index) : request));
}

/** A chat request as JSON, to spread into a ClientRequest: path, headers (with a credential) and body. */
export function chat(
  prompt: string,
  options: { api?: 'openai' | 'anthropic'; credential?: string; body?: object; headers?: Record<string, string> } = {},
): Pick<ClientRequest, 'path' | 'headers' | 'body'> & { headers: Record<string, string>; body: string } {
  const { api = 'openai', credential = 'test-key', body = {}, headers = {} } = options;
  const messages = [{ role: 'user', content: prompt }];
  const base = { model: 'mock-1', messages, temperature: 0, stream: true };
  const own =
    api === 'openai'
      ? { authorization: `Bearer ${credential}` }
      : { 'x-api-key': credential, 'anthropic-version': '2023-06-01' };
  return {
    path: api === 'openai' ? '/v1/chat/completions' : '/v1/messages',
    headers: { 'content-type': 'application/json', ...own, ...headers },
    body: JSON.stringify({ ...base, ...(api === 'anthropic' ? { max_tokens: 1024 } : {}), ...body }),
  };
}
