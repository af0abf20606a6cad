/**
 * `npm run bench -- --fleet`: how much later a token reaches a follower of another instance than one of the leader's own
 * instance. Two processors behind two Envoys with one Redis between them; both callers are read by this process, on one clock.
 */
import { begin, chat, type Exchange } from '../harness/http-client.ts';
import { startMockLlm } from '../harness/mock-llm.ts';
import { startRedis } from '../harness/redis.ts';
import { startStack, type Stack } from '../harness/stack.ts';
import { percentile } from './report/statistics.ts';

const FLIGHTS = 30;
const TOKENS = 50;
const GAP_MS = 20;

const closing: (() => Promise<void>)[] = [];
try {
  await measure();
} finally {
  for (const close of closing.reverse()) await close();
}

async function measure(): Promise<void> {
  const redis = await startRedis();
  closing.push(() => redis.end());
  const upstream = await startMockLlm({ script: { tokens: TOKENS, gapMs: GAP_MS, delayMs: 100 } });
  closing.push(() => upstream.close());
  const start = async (): Promise<Stack> => {
    const key = { secret: 'a-secret-of-the-bench-that-is-long-enough' };
    const config = { redis: { url: redis.url, budget: '100ms' }, key };
    const stack = await startStack({ leg: 'detached', upstream, config });
    closing.push(() => stack.close());
    return stack;
  };
  const stacks = [await start(), await start()] as const;
  const added: number[] = [];
  let shared = 0;
  for (let flight = 0; flight <= FLIGHTS; flight += 1) {
    const callsBefore = upstream.callCount();
    const [local, remote] = await fly(stacks, `flight ${flight}`);
    // The first one warms up.
    if (flight === 0 || upstream.callCount() !== callsBefore + 1) continue;
    shared += 1;
    added.push(...differences(local, remote));
  }
  const figures = [0.5, 0.9, 0.99].map((part) => `p${part * 100} ${percentile(added, part).toFixed(1)} ms`);
  console.log(`remote follower, per token, beside a local one: ${figures.join(', ')}`);
  console.log(`${added.length} tokens of ${shared} flights of ${FLIGHTS}, one token every ${GAP_MS} ms`);
}

/** The leader's instance has two callers, so that both that are compared are followers. */
async function fly([here, there]: readonly [Stack, Stack], prompt: string): Promise<[Exchange, Exchange]> {
  const call = ({ ingress }: Stack): ReturnType<typeof begin> =>
    begin({ url: ingress.url, ...chat(prompt, { headers: { host: 'llm.test' } }) });
  const leader = call(here);
  const [local, remote] = [call(here), call(there)];
  const [, ...followers] = await Promise.all([leader.done, local.done, remote.done]);
  return followers;
}

/** For each piece as the local one got it: how much later the remote one had all of it, in ms. */
function differences(local: Exchange, remote: Exchange): number[] {
  const later: number[] = [];
  let offset = 0;
  for (const { atMs, bytes } of local.chunks) {
    offset += bytes.length;
    const reached = timeAt(remote, offset);
    if (reached !== null) later.push(reached - atMs);
  }
  return later;
}

/** When the exchange had so many bytes; null where it never had. */
function timeAt({ chunks }: Exchange, count: number): number | null {
  let had = 0;
  for (const { atMs, bytes } of chunks) {
    had += bytes.length;
    if (had >= count) return atMs;
  }
  return null;
}
