/** An answer that breaks off looks broken to everybody, and what is sent at that moment begins anew. */
import { describe, expect, test } from 'vitest';
import { begin, type ClientRequest, type Exchange, type Sent } from '../../harness/http-client.ts';
import type { MockScript } from '../../harness/mock-llm.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg });

  function fourCallers(prompt: string, body: object = {}): ClientRequest[] {
    return ([1, 2, 1, 2] as const).map((version) => shared.chat(prompt, { version, body }));
  }

  /** Four callers of one flight, each with all that was sent, when the upstream destroys its connection. */
  async function cutInMidStream(
    prompt: string,
    options: { body?: object; chunks?: number; script?: Partial<MockScript> } = {},
  ): Promise<Sent[]> {
    const { body = {}, chunks = 2, script = {} } = options;
    const pacer = shared.pacedAnswer({ tokens: 4, reset: chunks, ...script });
    const sent = fourCallers(prompt, body).map(begin);
    await shared.waitForJoins(3);
    pacer.open('head', ...Array(chunks).keys());
    await pacer.reached(chunks);
    const past = Buffer.concat(shared.calls[0]?.sent ?? []);
    await Promise.all(sent.map((caller) => caller.waitForBytes(past.length)));
    pacer.open(chunks);
    return sent;
  }

  test('an upstream that dies in mid-stream cuts every caller where it broke', async () => {
    const exchanges = await allDone(await cutInMidStream('cut'));
    const past = Buffer.concat(shared.calls[0]?.sent ?? []);
    expect(shared.calls).toHaveLength(1);
    expect(exchanges.map(({ status, ending }) => [status, ending])).toEqual(Array(4).fill([200, 'reset']));
    for (const { body } of exchanges) expect(body.equals(past)).toBe(true);
    expect(exchanges.map(({ error }) => error?.startsWith('RST') ?? false)).toEqual([false, true, false, true]);
    expect(await shared.counted('coalesce_flight_endings_total{ending="landed"}')).toBe(0);
  });

  test('an answer shorter than its content-length cuts every caller', async () => {
    const script = { headers: [['content-length', '100000']] } as const;
    const exchanges = await allDone(await cutInMidStream('short', { body: { stream: false }, chunks: 1, script }));
    expect(exchanges.map(({ ending }) => ending)).toEqual(Array(4).fill('reset'));
  });

  test('a retry sent the moment that a caller is cut gets a whole answer of a later call', async () => {
    const sent = await cutInMidStream('retry');
    shared.answerWith({});
    const retries = await Promise.all(sent.map(async ({ done }): Promise<Exchange> => (await done, retry())));
    for (const exchange of retries) {
      const call = shared.callOf(exchange);
      expectWhole([exchange], call);
      expect(call).not.toBe(shared.calls[0]);
    }

    function retry(): Promise<Exchange> {
      return begin(shared.chat('retry')).done;
    }
  });

  test('an upstream that dies before its head: all get Envoy’s 503, attached each for itself, and nothing is kept', async () => {
    const exchanges = await allDone(await shared.fly(fourCallers('no head'), { reset: 'head' }));
    const calls = leg === 'attached' ? 4 : 1;
    expect(shared.calls).toHaveLength(calls);
    expect(exchanges.map(({ status, ending }) => [status, ending])).toEqual(Array(4).fill([503, 'complete']));
    shared.answerWith({});
    expectWhole([await begin(shared.chat('no head')).done], shared.calls[calls]);
  });
});
