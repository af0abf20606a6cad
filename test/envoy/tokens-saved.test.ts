/** What followers did not cost is counted from the answer's own usage, in both of its forms. */
import { describe, expect, test } from 'vitest';
import { allDone, SharedStack } from '../support/shared-stack.ts';

const money = (kind: string): string => `coalesce_money_saved_total{kind="${kind}"}`;
const saved = (kind: string): string => `coalesce_tokens_saved_total{kind="${kind}"}`;

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const prices = { 'mock-1': { prompt: 2_500_000, completion: 10_000_000 } };
  const shared = new SharedStack({ leg, config: { prices } });

  test.for([
    { api: 'openai', body: { stream: true, stream_options: { include_usage: true } } },
    { api: 'openai', body: { stream: false } },
    { api: 'anthropic', body: { stream: true } },
    { api: 'anthropic', body: { stream: false } },
  ] as const)('$api, $body: twice the usage for two followers', async (form) => {
    const request = shared.chat('saved', form);
    await allDone(await shared.fly([request, request, request], { tokens: 7 }));
    const promptTokens = Math.ceil(request.body.length / 4);
    await shared.waitForCount(saved('completion'), 14);
    expect(await shared.counted(saved('prompt'))).toBe(2 * promptTokens);
    // Per million tokens.
    expect(await shared.counted(money('prompt'))).toBeCloseTo(2 * promptTokens * 2.5);
    expect(await shared.counted(money('completion'))).toBeCloseTo(14 * 10);
  });

  test('an answer that tells no usage saves nothing that is counted', async () => {
    const request = shared.chat('silent', { body: { stream: true } });
    await allDone(await shared.fly([request, request]));
    expect(await shared.counted(saved('completion'))).toBe(0);
  });
});
