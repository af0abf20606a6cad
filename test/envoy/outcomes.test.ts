/** What the access log says of an exchange: each outcome and reason that tests of other behaviour do not come by. */
import { describe, expect, test, vi } from 'vitest';
import { begin, send } from '../../harness/http-client.ts';
import { connectionManager, type EnvoyConfig } from '../../harness/stack.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const legs = ['attached', 'detached'] as const;

describe.each(legs)('%s', (leg) => {
  const shared = new SharedStack({
    leg,
    config: { limits: { max_waiters: 3, max_waiters_total: 3 } },
  });

  test('leader and followers name their flight, and no ticket or key reaches a client', async () => {
    const ids = ['flight-0', 'flight-1', 'flight-2'];
    const requests = ids.map((id) => shared.chat('one flight', { headers: { 'x-request-id': id } }));
    const exchanges = await allDone(await shared.fly(requests));
    const lines = await Promise.all(ids.map((id) => shared.logLine(id)));
    expect(lines.map(({ outcome }) => outcome)).toEqual(['leader', 'follower', 'follower']);
    expect(new Set(lines.map(({ flight }) => flight)).size).toBe(1);
    expect(lines[0]?.['flight']).toMatch(/^[0-9a-f]{16}$/);
    for (const { rawHeaders } of exchanges) expect(rawHeaders.join('\n')).not.toMatch(/ticket|x-coalesce/i);
  });

  test('followers have no upstream, and say that the answer is ours', async () => {
    const ids = ['local-0', 'local-1'];
    const requests = ids.map((id) => shared.chat('local', { headers: { 'x-request-id': id } }));
    await allDone(await shared.fly(requests));
    const line = await shared.logLine('local-1');
    expect(line).toMatchObject({ details: 'ext_proc_local_response', status: 200 });
    expect(line['upstream'] ?? '-').toBe('-');
  });

  test('side_effects', async () => {
    const headers = { 'x-request-id': 'side-effects' };
    await send(shared.chat('act', { headers, body: { store: true } }));
    expect(await shared.logLine('side-effects')).toMatchObject({ outcome: 'bypass', reason: 'side_effects' });
  });

  test('limit, where too many callers wait in all', async () => {
    const pacer = shared.pacedAnswer();
    const sent = [begin(shared.chat('crowd'))];
    await shared.waitForCalls(1);
    // In the detached leg the leader waits too.
    for (let joined = 1; joined <= (leg === 'attached' ? 3 : 2); joined += 1) {
      sent.push(begin(shared.chat('crowd')));
      await shared.waitForJoins(joined);
    }
    const late = begin(shared.chat('crowd', { headers: { 'x-request-id': 'crowd' } }));
    await shared.waitForCalls(2);
    pacer.openAll();
    expectWhole(await allDone(sent), shared.calls[0]);
    expectWhole([await late.done], shared.calls[1]);
    expect(await shared.logLine('crowd')).toMatchObject({ outcome: 'bypass', reason: 'limit' });
  });
});

describe.each(legs)('%s, a process that may be 100 ms late', (leg) => {
  const shared = new SharedStack({ leg, config: { limits: { max_loop_delay: '100ms' } } });

  test('overload, where the process is late for everything', async () => {
    const { processor } = shared.stack;
    processor.kill('SIGSTOP');
    const stoppedAt = performance.now();
    const sent = begin(shared.chat('late', { headers: { 'x-request-id': 'overload' } }));
    await vi.waitFor(() => expect(performance.now() - stoppedAt).toBeGreaterThan(500));
    processor.kill('SIGCONT');
    expectWhole([await sent.done], shared.calls[0]);
    expect(await shared.logLine('overload')).toMatchObject({ outcome: 'bypass', reason: 'overload' });
  });
});

describe.each(legs)('%s, a process that drains', (leg) => {
  const shared = new SharedStack({ leg, config: { limits: { max_waiters: 100 } } });

  test('draining, while the flight that was under way ends whole', async () => {
    const pacer = shared.pacedAnswer({ tokens: 2 });
    const sent = [begin(shared.chat('under way')), begin(shared.chat('under way'))];
    await shared.waitForJoins(1);
    const { exit } = shared.stack.processor;
    shared.stack.processor.kill('SIGTERM');
    await vi.waitFor(async () => {
      const log = await shared.stack.processor.log();
      expect(log.some(({ event }) => event === 'drain_started')).toBe(true);
    });
    const late = begin(shared.chat('under way', { headers: { 'x-request-id': 'draining' } }));
    await shared.waitForCalls(2);
    pacer.openAll();
    expectWhole(await allDone(sent), shared.calls[0]);
    expectWhole([await late.done], shared.calls[1]);
    expect(await shared.logLine('draining')).toMatchObject({ outcome: 'bypass', reason: 'draining' });
    expect(await exit).toEqual({ code: 0, signal: null });
    await shared.stack.processor.restart();
  });
});

describe('an egress that leads back', () => {
  const shared = new SharedStack({ leg: 'detached', mutateEnvoy: pointEgressBack });

  test('egress_loop: our own call passes, and every caller has the answer of one call', async () => {
    const exchanges = await allDone(await shared.fly([shared.chat('loop'), shared.chat('loop'), shared.chat('loop')]));
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0]);
    await shared.waitForCount('coalesce_bypass_total{reason="egress_loop"}', 1);
    await vi.waitFor(async () => {
      const lines = await shared.stack.envoy.accessLog();
      expect(lines.map(({ reason }) => reason)).toContain('egress_loop');
    });
  });
});

describe('an egress that is not there', () => {
  // Nothing listens on the port of the discard protocol.
  const shared = new SharedStack({ leg: 'detached', config: { egress: 'http://127.0.0.1:9' } });

  test('egress_down: the caller goes upstream by itself', async () => {
    const exchange = await send(shared.chat('down', { headers: { 'x-request-id': 'egress-down' } }));
    expectWhole([exchange], shared.calls[0]);
    expect(await shared.logLine('egress-down')).toMatchObject({ outcome: 'bypass', reason: 'egress_down' });
  });

  test('a large body goes upstream whole', async () => {
    const large = shared.chat('x'.repeat(900_000));
    expectWhole([await send(large)], shared.calls[0]);
    expect(shared.calls[0]?.body.toString()).toBe(large.body);
  });
});

/** The egress listener becomes another ingress, with both filters: what an operator gets who sets the wrong port. */
function pointEgressBack(config: EnvoyConfig): void {
  const { stat_prefix: _, ...ingress } = connectionManager(config, 'ingress');
  Object.assign(connectionManager(config, 'egress'), structuredClone(ingress));
}
