/**
 * The soak's load, of every kind of exchange that leaves something behind if anything does: leaders and followers, callers
 * that hang up before the answer and within it, requests that are left alone, errors and answers that break off.
 */
import { Agent, type ClientRequest, request } from 'node:http';
import { chat } from '../http-client.ts';
import type { MockOptions } from '../mock-llm.ts';

/** How many go on at once. */
const ABREAST = 48;

/** Of ten exchanges in a row: the first six and those that leave share a prompt. */
const kinds = [
  ...['shared', 'shared', 'leavesAtOnce', 'shared', 'leavesMidway', 'shared'],
  ...['alone', 'optedOut', 'refused', 'broken'],
] as const;

type Kind = (typeof kinds)[number];

/** Answers by the prompt's first word. */
export const upstream: MockOptions = {
  respond: ({ body }) => {
    const text = body.toString();
    if (text.includes('"refused')) return { status: 429, headers: [['retry-after', '1']] };
    if (text.includes('"broken')) return { gapMs: 1, reset: 5 };
    return { tokens: 20, gapMs: 1 };
  },
};

/** Makes so many exchanges, `first` being the number of the first; resolves when all have ended, each as it should. */
export async function exchangeMany(url: string, { first, count }: { first: number; count: number }): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  let next = first;
  const goOn = async (): Promise<void> => {
    while (next < first + count) {
      const number = next;
      next += 1;
      await exchange(url, { number, agent });
    }
  };
  await Promise.all(Array.from({ length: ABREAST }, goOn));
  agent.destroy();
}

function exchange(url: string, { number, agent }: { number: number; agent: Agent }): Promise<void> {
  const kind = kinds[number % kinds.length] ?? 'alone';
  const { path, headers, body } = chat(promptOf(kind, number));
  const own = kind === 'optedOut' ? { ...headers, 'x-coalesce': 'never' } : headers;
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path ?? '/', url), { method: 'POST', headers: own, agent });
    const isLeaver = kind === 'leavesAtOnce' || kind === 'leavesMidway';
    // A broken answer is an error of the request as well, or of its response: both end the exchange.
    outgoing.on('close', resolve);
    outgoing.on('error', (error) => (isLeaver || kind === 'broken' ? resolve() : reject(error)));
    outgoing.on('response', (incoming) => {
      incoming.on('error', (error) => (isLeaver || kind === 'broken' ? resolve() : reject(error)));
      incoming.on('data', () => void (kind === 'leavesMidway' && outgoing.destroy()));
    });
    if (kind === 'leavesAtOnce') leaveOnceSent(outgoing);
    outgoing.end(body);
  });
}

function promptOf(kind: Kind, number: number): string {
  const ten = Math.floor(number / kinds.length);
  return kind === 'refused' || kind === 'broken'
    ? `${kind} ${number}`
    : kind === 'alone'
      ? `alone ${number}`
      : `shared ${ten}`;
}

function leaveOnceSent(outgoing: ClientRequest): void {
  outgoing.on('finish', () => setTimeout(() => outgoing.destroy(), 2));
}
