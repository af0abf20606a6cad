/**
 * Callers of one prompt through a stack, what their exchanges came to, and Envoy settings that notice a sick processor
 * soon. Shared by the fault tests; which fault happens when is each file's own.
 */
import { expect } from 'vitest';
import { begin, chat, type Exchange, type Sent } from '../../harness/http-client.ts';
import type { MockCall } from '../../harness/mock-llm.ts';
import { clusterNamed, connectionManager, type EnvoyConfig, type Leg, type Stack } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';

export const legs: readonly Leg[] = ['attached', 'detached'];

/** Begins a streaming chat call; equal prompts are identical requests. */
export function call(stack: Stack, prompt: string, body: object = {}): Sent {
  return begin({ url: stack.ingress.url, ...chat(prompt, { body }) });
}

/** Begins so many, one after the other, each once the one before it is aboard: the first one leads. */
export async function callInOrder(stack: Stack, prompt: string, count: number): Promise<Sent[]> {
  const sent: Sent[] = [];
  const decided = (await decisions(stack)) + 1;
  for (let index = 0; index < count; index += 1) {
    sent.push(call(stack, prompt));
    await until(`decision ${index + 1}`, async () => (await decisions(stack)) >= decided + index);
  }
  return sent;
}

/** Flights begun and joined since the processor's start. */
async function decisions(stack: Stack): Promise<number> {
  return (await metric(stack, 'coalesce_hits_total')) + (await metric(stack, 'coalesce_misses_total'));
}

/** A sample of the processor's metrics by its printed name; 0 where there is none. */
export async function metric(stack: Stack, name: string): Promise<number> {
  return (await stack.processor.metrics()).get(name) ?? 0;
}

/** Waits until so many callers beyond the first are aboard in all. */
export async function waitForWaiters(stack: Stack, count: number, timeoutMs?: number): Promise<void> {
  await until(`${count} waiters`, async () => (await metric(stack, 'coalesce_waiters')) === count, timeoutMs);
}

/** Every one has the status 200, all of this call's bytes and a clean end. */
export function expectWhole(exchanges: readonly Exchange[], of: MockCall | undefined): void {
  const bytes = Buffer.concat(of?.sent ?? []);
  expect(bytes.length).toBeGreaterThan(0);
  for (const { status, ending, body } of exchanges) {
    // Without the bytes themselves, which may be many.
    const seen = { status, ending, length: body.length, isSame: body.equals(bytes) };
    expect(seen).toEqual({ status: 200, ending: 'complete', length: bytes.length, isSame: true });
  }
}

/** Every one began and was reset: no clean end. */
export function expectCut(exchanges: readonly Exchange[]): void {
  for (const { status, ending } of exchanges) expect({ status, ending }).toEqual({ status: 200, ending: 'reset' });
}

/** The calls began one after the other, at this rate, the first at once; arrivals may jitter. */
export function expectOneAfterTheOther(calls: readonly MockCall[], rate: { perSecond: number }): void {
  const turnMs = 1000 / rate.perSecond;
  const dueMs = turnMs * (calls.length - 1);
  const spanMs = (calls.at(-1)?.startedAtMs ?? 0) - (calls[0]?.startedAtMs ?? 0);
  expect(spanMs).toBeGreaterThan(dueMs - turnMs);
  expect(spanMs).toBeLessThan(dueMs + 2_000);
}

/** Waits until so many exchanges in the access log were bypassed for this reason. */
export async function waitForBypasses(stack: Stack, reason: string, count: number): Promise<void> {
  await until(`${count} bypasses (${reason}) in the access log`, async () => {
    const lines = await stack.envoy.accessLog();
    return lines.filter((line) => line['outcome'] === 'bypass' && line['reason'] === reason).length === count;
  });
}

/** The exchanges' ends, in order. */
export function ends(sent: readonly Sent[]): Promise<Exchange[]> {
  return Promise.all(sent.map(({ done }) => done));
}

/** What decide and the keepalive wait for a processor that says nothing, in `noticeSoon`. */
export const decideTimeoutMs = 1_000;
export const keepaliveMs = 3_000;

/** A decide timeout of 1 s and a keepalive of 2 s + 1 s: a processor that hangs is noticed soon. */
export function noticeSoon(config: EnvoyConfig): void {
  const decide = connectionManager(config, 'ingress').http_filters.find(({ name }) => name === 'coalesce.decide');
  if (decide === undefined) throw new Error('the Envoy configuration has no decide filter');
  decide.typed_config['message_timeout'] = '1s';
  const options = clusterNamed(config, 'coalescer')['typed_extension_protocol_options'] as Record<
    string,
    { explicit_http_config: { http2_protocol_options: { connection_keepalive: object } } }
  >;
  for (const { explicit_http_config } of Object.values(options)) {
    explicit_http_config.http2_protocol_options.connection_keepalive = { interval: '2s', timeout: '1s' };
  }
}
