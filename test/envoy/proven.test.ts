/**
 * What the design takes for granted of Envoy and no other file of this folder covers: a compressor behind deliver or on
 * the egress, routes that an ignored header chooses, and bodies that are not as long as their `content-length`.
 */
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { begin, type ClientRequest, send } from '../../harness/http-client.ts';
import { clusterNamed, connectionManager, type EnvoyConfig, type Leg } from '../../harness/stack.ts';
import { openSocket } from '../support/raw-socket.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: (config) => extend(config, leg) });

  describe(`a compressor ${leg === 'attached' ? 'behind deliver' : 'on the egress'}`, () => {
    const accepting = (encoding: string | undefined, headers: Record<string, string> = {}): ClientRequest =>
      shared.chat('behind', {
        body: { stream: false },
        headers: { ...headers, ...(encoding === undefined ? {} : { 'accept-encoding': encoding }) },
      });

    test('leaves a shared answer readable to callers that asked for no encoding, whoever leads', async () => {
      for (const encodings of [
        ['gzip', undefined, 'identity'],
        [undefined, 'gzip', 'identity'],
      ]) {
        const requests = encodings.map((encoding) => accepting(encoding));
        const exchanges = await allDone(await shared.fly(requests, { framing: 'length', tokens: 50 }));
        expect(exchanges.map(({ headers }) => headers['content-encoding'])).toEqual([undefined, undefined, undefined]);
        expectWhole(exchanges, shared.calls.at(-1));
      }
      expect(shared.calls).toHaveLength(2);
    });

    test('is at work on a call that is not shared', async () => {
      shared.answerWith({ framing: 'length', tokens: 50 });
      const url = leg === 'attached' ? shared.stack.ingress.url : (shared.stack.egressUrl ?? '');
      const exchange = await send({ ...accepting('gzip', { 'x-coalesce': 'never' }), url });
      expect(exchange.headers['content-encoding']).toBe('gzip');
      expectWhole([{ ...exchange, body: gunzipSync(exchange.body) }], shared.calls[0]);
    });
  });

  describe('requests that differ only in user-agent', () => {
    const from = (agent: string): ClientRequest => shared.chat('which route', { headers: { 'user-agent': agent } });

    test.for([
      ['routes of different names', 'name-a', 'name-b'],
      ['routes of one name to different clusters', 'cluster-a', 'cluster-b'],
    ] as const)('do not share where it chooses %s', async ([, one, other]) => {
      const pacer = shared.pacedAnswer();
      const sent = [begin(from(one)), begin(from(other))];
      await shared.waitForCalls(2);
      sent.push(begin(from(one)), begin(from(other)));
      await shared.waitForJoins(2);
      pacer.openAll();
      const ids = (await allDone(sent)).map((exchange) => shared.callOf(exchange)?.id);
      expect(ids[2]).toBe(ids[0]);
      expect(ids[3]).toBe(ids[1]);
      expect(ids[0]).not.toBe(ids[1]);
      expect(shared.calls).toHaveLength(2);
    });

    test('share where they take one route', async () => {
      const exchanges = await allDone(await shared.fly(['plain-a', 'plain-b'].map(from)));
      expect(shared.calls).toHaveLength(1);
      expectWhole(exchanges, shared.calls[0]);
    });
  });

  describe('a content-length that lies', () => {
    /** The bytes of a chat request whose length is said to be `by` more than it is. */
    function lying(prompt: string, by: number): string {
      const { path, headers, body } = shared.chat(prompt);
      const { host } = new URL(shared.stack.ingress.url);
      const lines = Object.entries({ host, ...headers, 'content-length': String(Buffer.byteLength(body) + by) });
      return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
    }

    async function expectSharing(prompt: string): Promise<void> {
      const exchanges = await allDone(await shared.fly([shared.chat(prompt), shared.chat(prompt)]));
      expectWhole(exchanges, shared.calls.at(-1));
    }

    test('too short: the body ends there and is not shared, and what is left over is no request', async () => {
      const socket = await openSocket(shared.stack.ingress.port);
      socket.write(`${lying('too short', -5)}\r\n\r\n`);
      await socket.waitForText('200 OK');
      await socket.waitForText('400 Bad Request');
      await socket.ended;
      expect(await shared.counted('coalesce_bypass_total{reason="unparseable"}')).toBe(1);
      expect(shared.calls[0]?.body.toString()).toBe(String(shared.chat('too short').body).slice(0, -5));
      await expectSharing('too short');
      expect(shared.calls).toHaveLength(2);
    });

    test('too long, then a hang-up: no call, and nobody else notices', async () => {
      const socket = await openSocket(shared.stack.ingress.port);
      socket.write(lying('too long', 5));
      await shared.waitForGauge('coalesce_streams', 1);
      await expectSharing('too long');
      socket.close();
      await shared.waitForGauge('coalesce_streams', 0);
      expect(shared.calls).toHaveLength(1);
    });

    test.for([-5, 5])('by %i over HTTP/2: the stream is reset without a call, and nobody else notices', async (by) => {
      const prompt = `over HTTP/2 by ${by}`;
      const request = shared.chat(prompt, { version: 2 });
      const length = String(Buffer.byteLength(request.body) + by);
      const exchange = await send({ ...request, headers: { ...request.headers, 'content-length': length } });
      expect({ status: exchange.status, ending: exchange.ending }).toEqual({ status: 0, ending: 'reset' });
      await expectSharing(prompt);
      expect(shared.calls).toHaveLength(1);
    });
  });
});

function extend(config: EnvoyConfig, leg: Leg): void {
  addCompressorLast(config, leg);
  addRoutes(config);
}

/** In front of the router: behind deliver where the leader's own request goes on, on the egress where ours does. */
function addCompressorLast(config: EnvoyConfig, leg: Leg): void {
  connectionManager(config, leg === 'attached' ? 'ingress' : 'egress').http_filters.splice(-1, 0, {
    name: 'envoy.filters.http.compressor',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.compressor.v3.Compressor',
      compressor_library: {
        name: 'gzip',
        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.compression.gzip.compressor.v3.Gzip' },
      },
    },
  });
}

/** User agents choose among routes that differ in name, and among routes that differ in cluster. */
function addRoutes(config: EnvoyConfig): void {
  config.static_resources.clusters.push({ ...structuredClone(clusterNamed(config, 'llm')), name: 'llm-too' });
  const host = connectionManager(config, 'ingress').route_config.virtual_hosts[0];
  const [plain] = host?.routes ?? [];
  if (host === undefined || plain === undefined) throw new Error('the ingress has no route');
  const chosen = [
    { agent: 'name-a', name: 'a', cluster: 'llm' },
    { agent: 'name-b', name: 'b', cluster: 'llm' },
    { agent: 'cluster-a', name: 'c', cluster: 'llm' },
    { agent: 'cluster-b', name: 'c', cluster: 'llm-too' },
  ].map(({ agent, name, cluster }) => ({
    ...plain,
    name,
    match: { prefix: '/', headers: [{ name: 'user-agent', string_match: { exact: agent } }] },
    route: { ...(plain['route'] as object), cluster },
  }));
  host.routes.unshift(...chosen);
}
