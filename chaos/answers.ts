/**
 * Answers that prove themselves: each part names the question's digest, the call and its own number, and the last holds the
 * digest of all before it. Made from the call's record alone, so that a reader can tell which bytes it should have got.
 */
import { createHash } from 'node:crypto';
import { chat } from '../harness/http-client.ts';

/** What a caller asks, and as whom. Two that differ in anything must never share. */
export type Question = {
  readonly prompt: string;
  readonly tenant: string;
  readonly api: 'openai' | 'anthropic';
  readonly stream: boolean;
};

/** The size of an answer. */
export type Size = { readonly parts: number; readonly partBytes: number };

/** The request that asks it, to spread into a ClientRequest. */
export function requestFor(question: Question): ReturnType<typeof chat> {
  const { prompt, tenant, api, stream } = question;
  // The authority is part of the key: the same at every instance.
  return chat(prompt, { api, credential: tenant, body: { stream }, headers: { host: 'llm.test' } });
}

/** The question that a request asks. */
export function questionOf(request: {
  url: string;
  headers: Readonly<Record<string, unknown>>;
  body: Buffer;
}): Question {
  const asked = JSON.parse(request.body.toString()) as { messages: [{ content: string }]; stream: boolean };
  const api = request.url.includes('/messages') ? 'anthropic' : 'openai';
  const credential = api === 'openai' ? request.headers['authorization'] : request.headers['x-api-key'];
  const tenant = String(credential).replace('Bearer ', '');
  return { prompt: asked.messages[0].content, tenant, api, stream: asked.stream };
}

export function digestOf(question: Question): string {
  const { prompt, tenant, api, stream } = question;
  return sha256(JSON.stringify([prompt, tenant, api, stream])).slice(0, 16);
}

/** The whole answer of a call, in the chunks in which it is sent. */
export function answerTo(question: Question, call: number, size: Size): Buffer[] {
  const digest = digestOf(question);
  const filling = `${digest}.${call}.`;
  const pad = filling.repeat(Math.ceil(size.partBytes / filling.length)).slice(0, size.partBytes);
  const part = (members: object): string => JSON.stringify({ call, prompt: digest, ...members });
  const texts = Array.from({ length: size.parts }, (_, n) => part({ n, pad }));
  const bodies = question.stream ? texts.map(event) : texts.map((text, n) => `${n === 0 ? '[' : ','}${text}`);
  const end = part({ end: size.parts, sha256: sha256(bodies.join('')) });
  return [...bodies, question.stream ? event(end) : `,${end}]`].map((text) => Buffer.from(text));
}

function event(data: string): string {
  return `data: ${data}\n\n`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
