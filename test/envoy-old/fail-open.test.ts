/**
 * An Envoy that cannot stream an immediate response (1.36): it fails open. Every caller has its own right answer, and
 * nothing is shared.
 */
import { describe, expect, test } from 'vitest';
import { burst } from '../../harness/http-client.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg });

  test.each([1, 2, 20])('%i identical requests at once are all answered, whole and right', async (count) => {
    shared.answerWith({ delayMs: 100 });
    const exchanges = await allDone(
      burst(count, (index) => shared.chat(`burst of ${count}`, { version: index % 2 === 0 ? 1 : 2 })),
    );
    for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
    expect(new Set(exchanges.map((exchange) => shared.callOf(exchange))).size).toBe(count);
    // In the detached leg the flight's own call is made besides, since a ticket was redeemed.
    expect(shared.calls.length).toBeLessThanOrEqual(count + 1);
  });

  test('different prompts, a plain JSON answer and one that never shares are right, too', async () => {
    const requests = [
      shared.chat('one'),
      shared.chat('two', { body: { stream: false } }),
      shared.chat('three', { api: 'anthropic' }),
      shared.chat('four', { headers: { 'x-coalesce': 'never' } }),
    ];
    const exchanges = await allDone(burst(requests.length, (index) => requests[index] ?? shared.chat('none')));
    for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
  });

  test.each([400, 503])('status %i reaches every caller', async (status) => {
    shared.answerWith({ status, body: [Buffer.from('{"error":{}}')] });
    const exchanges = await allDone(burst(3, shared.chat(`status ${status}`)));
    const seen = exchanges.map((exchange) => [exchange.status, exchange.ending, exchange.body.toString()]);
    expect(seen).toEqual(Array(3).fill([status, 'complete', '{"error":{}}']));
  });
});
