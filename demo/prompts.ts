/**
 * What the callers ask and how the mock LLM answers it: texts, shapes and token timing. Sending is left to the scenes.
 */
import { chat, type ClientRequest } from '../harness/http-client.ts';
import type { MockCall, MockScript } from '../harness/mock-llm.ts';

export type Prompt = {
  readonly text: string;
  readonly api: 'openai' | 'anthropic';
  /** Of one prompt only, so that a flight in `/flights` can be told by its model. */
  readonly model: string;
  /** Of the answer: time to the first token, number of tokens, time between two. */
  readonly thinkMs: number;
  readonly tokens: number;
  readonly gapMs: number;
};

/** The burst's distinct prompts. */
export const prompts: readonly Prompt[] = [
  { text: 'Why is the sky blue?', api: 'openai', model: 'gpt-one', thinkMs: 250, tokens: 30, gapMs: 40 },
  { text: 'Name a prime above 100', api: 'anthropic', model: 'claude-one', thinkMs: 300, tokens: 28, gapMs: 42 },
  { text: 'Translate "good night"', api: 'openai', model: 'gpt-two', thinkMs: 200, tokens: 32, gapMs: 38 },
  { text: 'Explain a closure', api: 'anthropic', model: 'claude-two', thinkMs: 280, tokens: 30, gapMs: 40 },
  { text: 'A haiku on rivers', api: 'openai', model: 'gpt-three', thinkMs: 220, tokens: 34, gapMs: 36 },
];

/** Asked by those of whom the first hangs up. It thinks long: in the attached leg the others join before its first token. */
export const hangUpPrompt: Prompt = {
  text: 'How do tides work?',
  api: 'openai',
  model: 'gpt-four',
  thinkMs: 1_200,
  tokens: 30,
  gapMs: 40,
};

/** For what is tried by hand: slow enough to start a second curl meanwhile. */
const byHand: Partial<MockScript> = { delayMs: 500, tokens: 80, gapMs: 100 };

/** The request that asks a prompt; equal for all who ask it. */
export function requestFor(prompt: Prompt): Omit<ClientRequest, 'url' | 'body'> & { readonly body: string } {
  return chat(prompt.text, { api: prompt.api, body: { model: prompt.model } });
}

/** The mock LLM's answer to a call. */
export function scriptFor(call: MockCall): Partial<MockScript> {
  const prompt = promptOf(call);
  if (prompt === undefined) return byHand;
  return { delayMs: prompt.thinkMs, tokens: prompt.tokens, gapMs: prompt.gapMs };
}

/** Which prompt a call asks; undefined for one of somebody else's. */
export function promptOf(call: MockCall): Prompt | undefined {
  const body = call.body.toString();
  return [...prompts, hangUpPrompt].find((prompt) => requestFor(prompt).body === body);
}
