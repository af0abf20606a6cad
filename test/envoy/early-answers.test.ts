/** An upstream that speaks before its turn: early hints before the answer, and an answer before the upload is over. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Deferred, defer } from '../../harness/deferred.ts';
import { begin, type Exchange } from '../../harness/http-client.ts';
import { type EnvoyConfig, setClusterPort } from '../../harness/stack.ts';
import { until } from '../support/condition.ts';
import { chunked } from '../support/request-bodies.ts';
import { allDone, SharedStack } from '../support/shared-stack.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

let answer: Answer = (_request, response) => void response.end();
let requests = 0;
const upstream = createServer((request, response) => {
  requests += 1;
  // A peer that leaves an upload half sent is part of the test.
  request.on('error', () => undefined);
  void answer(request, response);
});

beforeAll(() => new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve)));
beforeEach(() => {
  requests = 0;
});
afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({
    leg,
    mutateEnvoy: prepare,
  });

  test('early hints are not taken for the answer: leader and followers get the final one whole', async () => {
    const [hinted, headDue, restDue] = [defer<void>(), defer<void>(), defer<void>()];
    answer = async (request, response) => {
      request.resume();
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' }, hinted.resolve);
      await headDue.promise;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: one\n\n');
      await restDue.promise;
      response.end('data: two\n\n');
    };
    const request = shared.chat('hinted');
    const callers = [begin(request)];
    await hinted.promise;
    callers.push(begin(request), begin({ ...request, version: 2 }));
    await shared.waitForJoins(2);
    headDue.resolve();
    await Promise.all(callers.map((caller) => caller.waitForText('one')));
    callers.push(begin(request));
    await shared.waitForJoins(3);
    restDue.resolve();
    const seen = (await allDone(callers)).map(seenOf);
    expect(seen).toEqual(callers.map(() => ({ status: 200, ending: 'complete', body: 'data: one\n\ndata: two\n\n' })));
    expect(requests).toBe(1);
  });

  describe.each([401, 413])('%i before the upload is over', (status) => {
    const refusal = JSON.stringify({ error: { message: 'refused', code: status } });
    const refused = { status, ending: 'complete', body: refusal };

    /** Does not read the body. */
    function refuse(response: ServerResponse): void {
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': refusal.length });
      response.end(refusal);
    }

    test.for([
      { kind: 'opted out', version: 1, length: 100_000, headers: { 'x-coalesce': 'never' } },
      { kind: 'opted out', version: 2, length: 100_000, headers: { 'x-coalesce': 'never' } },
      { kind: 'too large', version: 1, length: 1_500_000, headers: {} },
      { kind: 'too large', version: 2, length: 1_500_000, headers: {} },
    ] as const)('reaches a caller that is $kind, over HTTP/$version', async ({ version, length, headers }) => {
      answer = (_request, response) => refuse(response);
      const rest = defer<void>();
      const body = halfUpload('x'.repeat(length), rest);
      const exchange = await begin({ ...shared.chat('bypassed', { version, headers }), body }).done;
      rest.resolve();
      expect(seenOf(exchange)).toEqual(refused);
      expect(requests).toBe(1);
    });

    test('reaches all callers of a flight, whose call’s body is never read', async () => {
      const due = defer<void>();
      answer = async (_request, response) => {
        await due.promise;
        refuse(response);
      };
      const whole = shared.chat(`${status} ${'long '.repeat(180_000)}`);
      const parts = whole.body.match(/.{1,60000}/gs) ?? [];
      const callers = [1, 2, 3].map(() => begin({ ...whole, body: chunked(parts) }));
      await shared.waitForJoins(2);
      await until('the call', () => requests === 1);
      due.resolve();
      expect((await allDone(callers)).map(seenOf)).toEqual([refused, refused, refused]);
      expect(requests).toBe(1);
    });
  });
});

function prepare(config: EnvoyConfig): void {
  setClusterPort(config, 'llm', (upstream.address() as AddressInfo).port);
}

/** A body of which the rest comes when the test says. */
async function* halfUpload(start: string, rest: Deferred<void>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(start);
  await rest.promise;
  yield Buffer.from('the rest');
}

function seenOf({ status, ending, body }: Exchange): object {
  return { status, ending, body: body.toString() };
}
