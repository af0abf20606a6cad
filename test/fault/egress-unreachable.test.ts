/**
 * Detached leg: the egress cannot be had. Every caller gets the answer that it would have got without us: released to the
 * ingress route, one after the other.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import process from 'node:process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startMockLlm } from '../../harness/mock-llm.ts';
import { expectQuiet, type Stack, startStack } from '../../harness/stack.ts';
import { freePort } from '../../harness/stack/processor-process.ts';
import { until } from '../support/condition.ts';
import { Conductor, gateAt } from '../support/conductor.ts';
import {
  call,
  callInOrder,
  ends,
  expectOneAfterTheOther,
  expectWhole,
  waitForBypasses,
  waitForWaiters,
} from './callers.ts';

const releaseRate = 10;
const upstream = new Conductor();
let stack: Stack | undefined;

afterEach(async () => {
  if (stack !== undefined) await expectQuiet(stack);
  await stack?.close();
  stack = undefined;
});

/** A stack whose detached calls go to this port. */
async function startWithEgress(port: number): Promise<Stack> {
  stack = await startStack({
    leg: 'detached',
    config: { egress: `http://127.0.0.1:${port}`, limits: { release_rate: releaseRate } },
    mock: upstream.options,
  });
  return stack;
}

/** Identical callers at once: each gets an answer of the ingress route, one after the other, and the access log says why. */
async function expectReleased(on: Stack, prompt: string): Promise<void> {
  const exchanges = await ends(Array.from({ length: 5 }, () => call(on, prompt)));
  const calls = upstream.calls(prompt);
  expect(calls).toHaveLength(exchanges.length);
  expectOneAfterTheOther(calls, { perSecond: releaseRate });
  for (const exchange of exchanges) {
    expectWhole(
      [exchange],
      calls.find(({ id }) => String(id) === exchange.headers['x-mock-call']),
    );
  }
  await waitForBypasses(on, 'egress_down', exchanges.length);
}

async function egressLines(on: Stack): Promise<string[]> {
  const events = (await on.processor.log()).map((line) => String(line['event']));
  return events.filter((event) => event.startsWith('egress_'));
}

test('the egress port is closed, then open: released while it is down, shared once it is back', async () => {
  const port = await freePort();
  const on = await startWithEgress(port);
  await expectReleased(on, 'closed');
  const gate = gateAt('head');
  const egress = await startMockLlm({ port, respond: () => gate.script });
  try {
    const all = await callInOrder(on, 'back', 4);
    await waitForWaiters(on, 3);
    gate.open();
    expectWhole(await ends(all), egress.calls[0]);
    expect(egress.callCount()).toBe(1);
    expect(upstream.calls('back')).toHaveLength(0);
    // Once for each turn, however many callers it met.
    await until('a line that it is back', async () => (await egressLines(on)).includes('egress_up'));
    expect(await egressLines(on)).toEqual(['egress_down', 'egress_up']);
  } finally {
    await egress.close();
  }
});

describe('an egress that accepts and closes', () => {
  let server: Server;
  let when: 'at once' | 'after the request' = 'at once';

  beforeAll(async () => {
    server = createServer((socket: Socket) => {
      socket.on('error', () => undefined);
      if (when === 'at once') socket.destroy();
      else socket.on('data', () => socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close());

  test.for(['at once', 'after the request'] as const)('%s: released', async (moment) => {
    when = moment;
    await expectReleased(await startWithEgress((server.address() as AddressInfo).port), `closes ${moment}`);
  });
});

describe('an egress that hangs at connect', () => {
  let listener: ChildProcess;
  const fillers: Socket[] = [];
  let port = 0;

  beforeAll(async () => {
    const script =
      "require('net').createServer().listen(0, '127.0.0.1', 1, function () { console.log(this.address().port) })";
    listener = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = (await once(listener.stdout ?? listener, 'data')) as [Buffer];
    port = Number(line.toString());
    listener.kill('SIGSTOP');
    await fillAcceptQueue();
  });
  afterAll(() => {
    for (const socket of fillers) socket.destroy();
    listener.kill('SIGKILL');
  });

  /** A stopped process accepts nothing: once its queue is full, the system leaves further connections unanswered. */
  async function fillAcceptQueue(): Promise<void> {
    for (let opened = 0; opened === fillers.length; opened += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      const isOpen = await Promise.race([once(socket, 'connect').then(() => true), silence(300).then(() => false)]);
      if (isOpen) fillers.push(socket);
      else socket.destroy();
    }
  }

  test('released once the connect timeout is over', async () => {
    await expectReleased(await startWithEgress(port), 'hangs');
  });
});

/** The only sign of a connection that stays unanswered is that nothing comes. */
async function silence(ms: number): Promise<void> {
  const endsAt = performance.now() + ms;
  await until('silence', () => performance.now() >= endsAt, ms + 1_000);
}
