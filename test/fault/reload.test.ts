/** SIGHUP: a changed configuration is in force for new exchanges at once, and what runs goes on as it began. */
import { describe, expect, test, vi } from 'vitest';
import { begin, type Sent } from '../../harness/http-client.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { keepCalling } from '../support/steady-load.ts';
import { legs } from './callers.ts';

describe.each(legs)('%s', (leg) => {
  const shared = new SharedStack({ leg });
  const waitForLog = (line: object): Promise<void> =>
    vi.waitFor(async () => {
      expect(await shared.stack.processor.log()).toContainEqual(expect.objectContaining(line));
    }, 5_000);
  const started = (): Readonly<Record<string, unknown>> => shared.stack.processor.config;

  test('mode: off is in force for new exchanges, and cuts no flight', async () => {
    const pacer = shared.pacedAnswer();
    const sent = [1, 2, 3].map(() => begin(shared.chat('before the switch')));
    await shared.waitForJoins(2);
    pacer.open('head', 0, 1, 2);
    await Promise.all(sent.map((each) => each.waitForBytes(1)));
    await shared.stack.processor.reload({ ...started(), mode: 'off' });
    const alone = [1, 2].map((index) =>
      begin(shared.chat('before the switch', { headers: { 'x-request-id': `off-${index}-${leg}` } })),
    );
    await shared.waitForCalls(3);
    pacer.openAll();
    expectWhole(await allDone(sent), shared.calls[0]);
    for (const exchange of await allDone(alone)) expectWhole([exchange], shared.callOf(exchange));
    expect(await shared.logLine(`off-1-${leg}`)).toMatchObject({ outcome: 'bypass', reason: 'mode_off' });
    await shared.stack.processor.reload(started());
  });

  test('another policy is another key epoch: a request like one in flight begins a flight of its own', async () => {
    const pacer = shared.pacedAnswer();
    const sent = [begin(shared.chat('same prompt'))];
    await shared.waitForCalls(1);
    await shared.stack.processor.reload({ ...started(), late_join: { max_age: '59s' } });
    sent.push(begin(shared.chat('same prompt')));
    await shared.waitForCalls(2);
    await shared.stack.processor.reload(started());
    sent.push(begin(shared.chat('same prompt')));
    await shared.waitForJoins(1);
    pacer.openAll();
    const [first, second, third] = await allDone(sent);
    expect(shared.calls).toHaveLength(2);
    expect([first?.body, second?.body, third?.body]).toEqual([
      Buffer.concat(shared.calls[0]?.sent ?? []),
      Buffer.concat(shared.calls[1]?.sent ?? []),
      Buffer.concat(shared.calls[0]?.sent ?? []),
    ]);
  });

  test('a configuration with a mistake is refused whole, and the earlier one stays', async () => {
    await shared.stack.processor.reload({ ...started(), mode: 'off', limits: { max_waiters: 0 } });
    expect(await shared.counted('coalesce_config_reloads_total{result="refused"}')).toBe(1);
    expect(await shared.counted('coalesce_config_reloads_total{result="applied"}')).toBe(0);
    const mistakes = [expect.stringContaining('limits.max_waiters')];
    await waitForLog({ event: 'reload_refused', level: 'error', mistakes });
    await allDone(await shared.fly([1, 2].map(() => shared.chat('still shared'))));
    expect(shared.calls).toHaveLength(1);
    await shared.stack.processor.reload(started());
  });

  test('a text that is no YAML is refused', async () => {
    await shared.stack.processor.reload('mode: [');
    expect(await shared.counted('coalesce_config_reloads_total{result="refused"}')).toBe(1);
    await shared.stack.processor.reload(started());
  });

  test('an address that changed waits for the next start, and the log says so', async () => {
    await shared.stack.processor.reload({ ...started(), listen: '127.0.0.1:1', log: { level: 'debug' } });
    await waitForLog({ event: 'configuration_reloaded', kept: ['listen'] });
    await allDone(await shared.fly([1, 2].map(() => shared.chat('at the old address'))));
    expect(shared.calls).toHaveLength(1);
    await shared.stack.processor.reload(started());
  });

  test('a lower admission limit holds for new calls, a lifted one lets the queue go', async () => {
    const pacer = shared.pacedAnswer();
    const sent: Sent[] = ['one', 'two'].map((prompt) => begin(shared.chat(prompt)));
    await shared.waitForCalls(2);
    await shared.stack.processor.reload({ ...started(), admission: { max_upstream: 1 } });
    sent.push(begin(shared.chat('three')));
    await shared.waitForGauge('coalesce_queue', 1);
    expect(shared.calls).toHaveLength(2);
    await shared.stack.processor.reload(started());
    await shared.waitForCalls(3);
    pacer.openAll();
    for (const exchange of await allDone(sent)) expectWhole([exchange], shared.callOf(exchange));
  });

  test('reloads under load fail nobody', async () => {
    shared.answerWith({ tokens: 5, gapMs: 5 });
    const endLoad = keepCalling(shared, 8);
    for (let round = 0; round < 12; round += 1) {
      await shared.stack.processor.reload({ ...started(), late_join: { max_age: `${50 + (round % 3)}s` } });
    }
    await shared.stack.processor.reload(started());
    expect(Math.min(...(await endLoad()))).toBeGreaterThan(1);
    expect(await shared.counted('coalesce_config_reloads_total{result="applied"}')).toBe(13);
  });
});
