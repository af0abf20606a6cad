/** SIGTERM: new exchanges pass by, flights under way finish whole for everybody, then the process ends with 0. */
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import { type Stack, startStack } from '../../harness/stack.ts';
import { type HealthResponse, healthService } from '../../src/server/grpc/service-definition.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import { call, callInOrder, ends, expectCut, expectWhole, legs, waitForBypasses, waitForWaiters } from './callers.ts';

let stack: Stack | undefined;
afterEach(async () => {
  await stack?.close();
  stack = undefined;
});

describe.each(legs)('%s', (leg) => {
  async function start(upstream: Conductor, config: Record<string, unknown> = {}): Promise<Stack> {
    stack = await startStack({ leg, config, mock: upstream.options });
    return stack;
  }

  test('flights in mid-stream and before the first byte finish whole; probes and health say no meanwhile; exit 0', async () => {
    const upstream = new Conductor();
    const on = await start(upstream);
    const [streaming, waiting] = [gateAt(5), gateAt('head')];
    upstream.play('streaming', streaming.script);
    upstream.play('waiting', waiting.script);
    const streamed = await callInOrder(on, 'streaming', 3);
    const waited = await callInOrder(on, 'waiting', 3);
    await Promise.all(streamed.map((each) => each.waitForBytes(100)));
    await waitForWaiters(on, 4);
    expect(await statusOf(on, '/readyz')).toBe(200);
    expect(await health(on)).toBe('SERVING');

    const { exit } = on.processor;
    on.processor.kill('SIGTERM');
    await until('readiness 503', async () => (await statusOf(on, '/readyz')) === 503);
    expect(await statusOf(on, '/healthz')).toBe(200);
    expect(await health(on)).toBe('NOT_SERVING');
    const alone = await ends([call(on, 'new'), call(on, 'new')]);
    expect(alone.map(({ status, ending }) => `${status} ${ending}`)).toEqual(['200 complete', '200 complete']);
    expect(upstream.calls('new')).toHaveLength(2);
    // A request that is the same as those in flight does not join them either.
    expectWhole([await joinless(on, upstream)], upstream.calls('waiting')[1]);
    await waitForBypasses(on, 'draining', 3);

    streaming.open();
    waiting.open();
    expectWhole(await ends(streamed), upstream.calls('streaming')[0]);
    expectWhole(await ends(waited), upstream.calls('waiting')[0]);
    expect(await exit).toEqual({ code: 0, signal: null });
  });

  /** One more of the calls that wait; the gate of the first holds only that. */
  async function joinless(on: Stack, upstream: Conductor) {
    upstream.play('waiting', {});
    return call(on, 'waiting').done;
  }

  test('with nothing in flight it ends at once, with 0', async () => {
    const on = await start(new Conductor());
    await call(on, 'before').done;
    const stoppedAt = performance.now();
    const { exit } = on.processor;
    on.processor.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - stoppedAt).toBeLessThan(2_000);
  });

  test('a second SIGTERM ends it at once, with 0', async () => {
    const upstream = new Conductor();
    const on = await start(upstream);
    upstream.play('hung', { hang: 5 });
    const all = await callInOrder(on, 'hung', 3);
    await Promise.all(all.map((each) => each.waitForBytes(100)));
    const { exit } = on.processor;
    on.processor.kill('SIGTERM');
    await until('readiness 503', async () => (await statusOf(on, '/readyz')) === 503);
    const secondAt = performance.now();
    on.processor.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - secondAt).toBeLessThan(1_000);
    expectCut(await ends(leg === 'attached' ? all.slice(1) : all));
  });

  test('of flights that outlast the drain, callers with bytes are cut and the others go on by themselves; exit 0', async () => {
    const upstream = new Conductor();
    const on = await start(upstream, { drain: '300ms' });
    upstream.play('endless', { hang: 5 });
    upstream.play('silent', { hang: 'head' }, {});
    const all = await callInOrder(on, 'endless', 3);
    const silent = await callInOrder(on, 'silent', 3);
    await Promise.all(all.map((each) => each.waitForBytes(100)));
    await until('the silent call', () => upstream.calls('silent').length === 1);
    await waitForWaiters(on, 4);
    const { exit } = on.processor;
    on.processor.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
    expectCut(await ends(leg === 'attached' ? all.slice(1) : all));
    const released = await ends(leg === 'attached' ? silent.slice(1) : silent);
    expect(released.map(({ status, ending }) => `${status} ${ending}`)).toEqual(released.map(() => '200 complete'));
    await waitForBypasses(on, 'draining', released.length);
    const lines = await on.processor.log();
    expect(lines).toContainEqual(expect.objectContaining({ event: 'drain_ended', leftFlights: 2 }));
  });
});

async function statusOf(on: Stack, path: string): Promise<number> {
  const response = await fetch(`${on.processor.adminUrl}${path}`);
  await response.text();
  return response.status;
}

async function health(on: Stack): Promise<HealthResponse['status']> {
  const client = new Client(`127.0.0.1:${on.processorPort}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = healthService().Check;
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: '' }, (error, response) => {
        if (error === null && response !== undefined) resolve(response.status);
        else reject(error ?? new Error('no answer'));
      });
    });
  } finally {
    client.close();
  }
}
