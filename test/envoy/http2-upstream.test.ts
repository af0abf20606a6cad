/** An upstream that speaks HTTP/2, where an answer whose length is known can still have trailers. */
import { once } from 'node:events';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { begin, type Exchange } from '../../harness/http-client.ts';
import { clusterNamed, type EnvoyConfig, setClusterPort } from '../../harness/stack.ts';
import { defer } from '../../harness/deferred.ts';
import { allDone, SharedStack } from '../support/shared-stack.ts';

const body = JSON.stringify({ id: 'x', choices: [] });
const sessions = new Set<ServerHttp2Session>();
const server = createServer();
let answer: (stream: ServerHttp2Stream) => void = (stream) => stream.close();
let calls = 0;

server.on('session', (session) => sessions.add(session.on('close', () => sessions.delete(session))));
server.on('stream', (stream) => {
  calls += 1;
  stream.resume();
  stream.on('end', () => answer(stream));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

afterAll(() => {
  for (const session of sessions) session.destroy();
  server.close();
});

const shared = new SharedStack({ leg: 'attached', mutateEnvoy: toHttp2 });

function toHttp2(config: EnvoyConfig): void {
  setClusterPort(config, 'llm', port);
  clusterNamed(config, 'llm')['typed_extension_protocol_options'] = {
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
      '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
      explicit_http_config: { http2_protocol_options: {} },
    },
  };
}

/** A leader and two followers of one answer, of a known length, with trailers; its head names them or does not. */
async function flyWithTrailers(prompt: string, headers: Record<string, string>): Promise<Exchange[]> {
  const gate = defer<void>();
  const earlier = calls;
  answer = (stream) => {
    void gate.promise.then(() => {
      const head = { ':status': 200, 'content-type': 'application/json', 'content-length': body.length, ...headers };
      stream.respond(head, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': 'abc' }));
      stream.end(body);
    });
  };
  const request = shared.chat(prompt, { version: 2 });
  const sent = [request, request, { ...request, version: 1 as const }].map(begin);
  await shared.waitForJoins(2);
  gate.resolve();
  const exchanges = await allDone(sent);
  expect(calls - earlier).toBe(1);
  for (const { status, ending, body: bytes } of exchanges) {
    expect([status, ending, bytes.toString()]).toEqual([200, 'complete', body]);
  }
  return exchanges;
}

test('trailers that the head names reach everybody on HTTP/2', async () => {
  const exchanges = await flyWithTrailers('named', { trailer: 'x-checksum' });
  const [first, second] = exchanges.map(({ trailers }) => trailers);
  expect([first, second]).toEqual([{ 'x-checksum': 'abc' }, { 'x-checksum': 'abc' }]);
});

test('trailers that it does not name cost nobody the answer, nor its end', async () => {
  const exchanges = await flyWithTrailers('unnamed', {});
  expect(exchanges.map(({ headers }) => headers['cache-status'])).toEqual(
    expect.arrayContaining(['coalescer; fwd=miss', 'coalescer; fwd=miss; collapsed']),
  );
});
