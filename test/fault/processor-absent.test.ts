/** No processor at all: every caller gets the upstream's own answer, at once, and nothing is shared. */
import { describe, expect, test } from 'vitest';
import { startStack } from '../../harness/stack.ts';
import { Conductor } from '../support/conductor.ts';
import { call, ends, expectWhole, legs } from './callers.ts';

describe.each(legs)('%s', (leg) => {
  test('nothing listens where the processor should: 200, an own call each, in no more time than that takes', async () => {
    const upstream = new Conductor();
    const stack = await startStack({ leg, processor: false, mock: upstream.options });
    try {
      const exchanges = await ends(Array.from({ length: 5 }, () => call(stack, 'alone')));
      const calls = upstream.calls('alone');
      expect(calls).toHaveLength(5);
      for (const exchange of exchanges) {
        expectWhole(
          [exchange],
          calls.find(({ id }) => String(id) === exchange.headers['x-mock-call']),
        );
        expect((exchange.endedAtMs ?? Infinity) - exchange.startedAtMs).toBeLessThan(1_000);
      }
    } finally {
      await stack.close();
    }
  });
});
