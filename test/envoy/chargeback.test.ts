/**
 * What an answer cost is on the line of each of its callers, in the log and in Envoy's access log, so that the leader alone
 * does not pay.
 */
import { describe, expect, test, vi } from 'vitest';
import { send } from '../../harness/http-client.ts';
import { allDone, SharedStack } from '../support/shared-stack.ts';

const withUsage = { stream: true, stream_options: { include_usage: true } };

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg });

  /** The filter's line of an exchange, which comes when its stream has ended. */
  const line = (requestId: string, filter: string): Promise<Record<string, unknown>> =>
    vi.waitFor(
      async () => {
        const lines = await shared.stack.processor.log();
        const found = lines.find((each) => each['requestId'] === requestId && each['filter'] === filter);
        if (found === undefined) throw new Error(`no line of ${filter} for ${requestId}`);
        return found;
      },
      { timeout: 10_000 },
    );
  const cost = (of: Record<string, unknown>): unknown[] => [of['prompt_tokens'], of['completion_tokens']];

  test.for([
    { name: 'sse', body: withUsage },
    { name: 'sse-trailers', body: withUsage, script: { trailers: [['x-mock-end', '1']] as const } },
    { name: 'json', body: { stream: false }, script: { framing: 'length' as const } },
    { name: 'json-chunked', body: { stream: false } },
  ])('$name: leader and followers all have the usage of the one answer', async ({ name, body, script = {} }) => {
    const ids = [0, 1, 2].map((index) => `${name}-${index}`);
    const requests = ids.map((id) => shared.chat(name, { body, headers: { 'x-request-id': id } }));
    await allDone(await shared.fly(requests, { tokens: 7, ...script }));
    const expected = [Math.ceil((requests[0]?.body.length ?? 0) / 4), 7];
    for (const [index, id] of ids.entries()) {
      const filter = leg === 'attached' && index === 0 ? 'decide' : 'deliver';
      expect(cost(await line(id, filter)), `${id} in the log`).toEqual(expected);
      expect(cost(await shared.logLine(id)), `${id} in the access log`).toEqual(expected);
    }
    expect(shared.calls).toHaveLength(1);
  });

  test('one that joins when most of the answer has come has all of its cost', async () => {
    const pacer = shared.pacedAnswer({ tokens: 5 });
    const request = (id: string): ReturnType<typeof shared.chat> => {
      return shared.chat('late', { body: withUsage, headers: { 'x-request-id': id } });
    };
    const sent = [send(request('late-0'))];
    pacer.open('head', 0, 1);
    await pacer.reached(2);
    sent.push(send(request('late-1')));
    await shared.waitForJoins(1);
    pacer.openAll();
    await Promise.all(sent);
    expect(cost(await shared.logLine('late-1'))).toEqual(cost(await shared.logLine('late-0')));
    expect((await shared.logLine('late-1'))['completion_tokens']).toBe(5);
  });

  test('an answer that does not say what it cost, and an error, leave both lines without it', async () => {
    for (const [id, script] of [
      ['silent', { tokens: 3 }],
      ['failed', { status: 500 }],
    ] as const) {
      shared.answerWith(script);
      await send(shared.chat(id, { body: { stream: true }, headers: { 'x-request-id': id } }));
      expect(cost(await shared.logLine(id)).map((value) => value ?? null)).toEqual([null, null]);
    }
  });
});
