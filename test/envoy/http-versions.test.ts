/** Clients that write HTTP in their own ways: 1.0, connections used again, requests sent ahead, uploads in pieces. */
import { describe, expect, test } from 'vitest';
import { begin, openSession } from '../../harness/http-client.ts';
import { connectionManager, type EnvoyConfig } from '../../harness/stack.ts';
import { openSocket } from '../support/raw-socket.ts';
import { chunked } from '../support/request-bodies.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: acceptHttp10 });

  /** The bytes of a chat request, as any client of the old kind would write them. */
  function raw(prompt: string, options: { version?: '1.0' | '1.1'; stream?: boolean } = {}): string {
    const { version = '1.1', stream = true } = options;
    const { path, headers, body } = shared.chat(prompt, { body: { stream } });
    const { host } = new URL(shared.stack.ingress.url);
    const lines = Object.entries({ host, ...headers, 'content-length': String(Buffer.byteLength(body)) });
    return `POST ${path} HTTP/${version}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
  }

  test.each([true, false])('HTTP/1.0 callers lead and follow, streaming: %s', async (stream) => {
    const prompt = `http/1.0 ${stream}`;
    const pacer = shared.pacedAnswer({ framing: stream ? 'chunked' : 'length' });
    const leader = await openSocket(shared.stack.ingress.port);
    leader.write(raw(prompt, { version: '1.0', stream }));
    await shared.waitForCalls(1);
    const follower = await openSocket(shared.stack.ingress.port);
    follower.write(raw(prompt, { version: '1.0', stream }));
    const modern = begin(shared.chat(prompt, { body: { stream } }));
    await shared.waitForJoins(2);
    pacer.openAll();
    await Promise.all([leader.ended, follower.ended]);
    expectWhole([await modern.done], shared.calls[0]);
    const sent = Buffer.concat(shared.calls[0]?.sent ?? []).toString('latin1');
    for (const socket of [leader, follower]) {
      const [head = '', ...body] = socket.received().split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.[01] 200/);
      expect(head.toLowerCase()).not.toContain('transfer-encoding');
      expect(body.join('\r\n\r\n')).toBe(sent);
    }
  });

  test('a connection serves on after a streamed, a whole and a shared answer', async () => {
    const socket = await openSocket(shared.stack.ingress.port);
    const pacer = shared.pacedAnswer();
    const leader = begin(shared.chat('reused'));
    await shared.waitForCalls(1);
    socket.write(raw('reused'));
    await shared.waitForJoins(1);
    pacer.openAll();
    expectWhole([await leader.done], shared.calls[0]);
    await socket.waitForText('0\r\n\r\n');
    shared.answerWith({ framing: 'length' });
    socket.write(raw('reused, whole', { stream: false }));
    await socket.waitForText('"object":"chat.completion"');
    socket.write(raw('reused, streamed'));
    await socket.waitForText('[DONE]', 2);
    socket.close();
    expect(shared.calls).toHaveLength(3);
  });

  test('requests that are sent ahead on one connection are answered in their order', async () => {
    const socket = await openSocket(shared.stack.ingress.port);
    shared.answerWith({ framing: 'length' });
    const prompts = ['ahead 1', 'ahead 1', 'ahead 2'];
    socket.write(prompts.map((prompt) => raw(prompt, { stream: false })).join(''));
    await socket.waitForText('"object":"chat.completion"', 3);
    socket.close();
    const ids = [...socket.received().matchAll(/"id":"chatcmpl-(\d+)"/g)].map(([, id]) => Number(id));
    expect(ids).toEqual(shared.calls.map(({ id }) => id));
  });

  test('uploads of unknown length share with those of a known one', async () => {
    const whole = shared.chat('upload');
    const requests = ([1, 2] as const).map((version) => ({ ...whole, version, body: chunked([whole.body]) }));
    const exchanges = await allDone(await shared.fly([whole, ...requests]));
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0]);
  });

  test('a leader that uploads chunked is called with its whole body', async () => {
    const whole = shared.chat('chunked leader');
    const parts = whole.body.match(/.{1,20}/gs) ?? [];
    const exchanges = await allDone(await shared.fly([{ ...whole, body: chunked(parts) }, whole]));
    expectWhole(exchanges, shared.calls[0]);
    expect(shared.calls[0]?.body.toString()).toBe(whole.body);
  });

  test('many streams of one HTTP/2 connection share', async () => {
    const session = await openSession(shared.stack.ingress.url);
    const request = { ...shared.chat('one connection'), version: 2 as const, session };
    const exchanges = await allDone(await shared.fly([request, request, request]));
    session.destroy();
    expectWhole(exchanges, shared.calls[0]);
    expect(shared.calls).toHaveLength(1);
  });

  test('half a body and a hang-up harm nobody', async () => {
    const socket = await openSocket(shared.stack.ingress.port);
    const whole = raw('half a body');
    socket.write(whole.slice(0, -20));
    await shared.waitForGauge('coalesce_streams', 1);
    socket.close();
    await shared.waitForGauge('coalesce_streams', 0);
    const exchanges = await allDone(await shared.fly([shared.chat('half a body'), shared.chat('half a body')]));
    expectWhole(exchanges, shared.calls[0]);
  });
});

function acceptHttp10(config: EnvoyConfig): void {
  const manager = connectionManager(config, 'ingress');
  manager['http_protocol_options'] = { ...(manager['http_protocol_options'] as object), accept_http_10: true };
}
