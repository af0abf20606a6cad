/** A first byte that comes later than the shipped timeouts of both filters: the processor's first reply has lengthened deliver's. */
import { describe, expect, test } from 'vitest';
import { burst } from '../../harness/http-client.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg });

  test('a first byte after 6.5 s is waited for by all', async () => {
    shared.answerWith({ delayMs: 6_500 });
    const exchanges = await allDone(burst(10, shared.chat('slow to begin')));
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0]);
  });
});
