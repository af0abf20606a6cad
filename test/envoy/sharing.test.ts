/** Identical requests in flight share one upstream call, and every caller streams the whole answer, whenever it comes. */
import { describe, expect, test } from 'vitest';
import { begin, burst, openSession, send, type Sent } from '../../harness/http-client.ts';
import { waitLong } from '../support/patient-envoy.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  // Thousands of callers on a machine that has other work: what is late is not what is tested here.
  const limits = { max_waiters: 5_000, max_loop_delay: '60s' };
  const shared = new SharedStack({ leg, config: { limits }, mutateEnvoy: waitLong });

  async function burstOf(count: number): Promise<void> {
    const pacer = shared.pacedAnswer();
    const sent = burst(count, shared.chat(`burst of ${count}`));
    await shared.waitForJoins(count - 1);
    pacer.openAll();
    const exchanges = await allDone(sent);
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0]);
  }

  // The first test of its stack: nothing is connected, nothing compiled.
  test('1,000 identical requests to a process that has just started make one call', () => burstOf(1_000));

  // 1,500 are more than an Envoy cluster lets through by default.
  test.each([1, 2, 32, 1_000, 1_500])(
    '%i identical requests at once make one call, and each gets the whole answer',
    (count) => burstOf(count),
  );

  test('a caller that joins at any moment has the past at once and the rest as it comes', async () => {
    const tokens = 4;
    const pacer = shared.pacedAnswer({ tokens });
    const request = shared.chat('joiners at any moment');
    const callers: Sent[] = [begin(request)];
    const join = async (): Promise<void> => {
      callers.push(begin(request));
      await shared.waitForJoins(callers.length - 1);
    };
    await pacer.reached('head');
    await join();
    pacer.open('head');
    // Envoy 1.39.3 sends the head of an attached leader's answer with its first chunk.
    await Promise.all(callers.slice(1).map(({ head }) => head));
    for (let step = 0; step <= tokens; step += 1) {
      await pacer.reached(step);
      await join();
      const past = Buffer.concat(shared.calls[0]?.sent ?? []);
      // The mock waits: whatever arrives now does not hang on what comes next.
      await Promise.all(callers.map((caller) => caller.waitForBytes(past.length)));
      pacer.open(step);
    }
    expectWhole(await allDone(callers), shared.calls[0]);
    expect(shared.calls).toHaveLength(1);
  });

  test('clients of HTTP/1.1 and HTTP/2 share one flight', async () => {
    const pacer = shared.pacedAnswer();
    const session = await openSession(shared.stack.ingress.url);
    const kinds = [{ version: 1 }, { version: 2 }, { version: 2, session }, { version: 2, session }] as const;
    const sent = burst(8, (index) => ({ ...shared.chat('mixed'), ...kinds[index % 4] }));
    await shared.waitForJoins(7);
    pacer.openAll();
    const exchanges = await allDone(sent);
    session.destroy();
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0]);
  });

  test('members in another order and other whitespace share, and the second spelling is counted', async () => {
    const pacer = shared.pacedAnswer();
    const request = shared.chat('spelling');
    const members = Object.entries(JSON.parse(request.body) as Record<string, unknown>);
    const reversed = JSON.stringify(Object.fromEntries(members.reverse()), null, 2);
    const sent = [begin(request), begin({ ...request, body: reversed })];
    await shared.waitForJoins(1);
    pacer.openAll();
    expectWhole(await allDone(sent), shared.calls[0]);
    expect(await shared.counted('coalesce_noncanonical_joins_total')).toBe(1);
  });

  test('nothing is kept: the same request after the end makes a call of its own', async () => {
    const first = await send(shared.chat('again'));
    const second = await send(shared.chat('again'));
    expect(shared.calls).toHaveLength(2);
    expectWhole([first], shared.calls[0]);
    expectWhole([second], shared.calls[1]);
  });
});
