/**
 * What is not coalesced passes as if we were absent: the upstream sees the very bytes and headers, and the client the very
 * answer, that it would see through the same Envoy without the two filters.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type ClientRequest, type Exchange, send } from '../../harness/http-client.ts';
import type { MockCall } from '../../harness/mock-llm.ts';
import { connectionManager, type EnvoyConfig } from '../../harness/stack.ts';
import { openSocket } from '../support/raw-socket.ts';
import { chunked, paddedTo } from '../support/request-bodies.ts';
import { SharedStack } from '../support/shared-stack.ts';

const json = { 'content-type': 'application/json', authorization: 'Bearer test-key' };
const path = '/v1/chat/completions';
const warm = (length = 0): string => paddedTo(length, { model: 'm', messages: [], temperature: 1 });
const post = (body: ClientRequest['body'] & {}, headers: Record<string, string> = {}): Case => ({
  path,
  method: 'POST',
  headers: { ...json, ...headers },
  body: () => body,
});

/** A request whose body is made anew for each sending. */
type Case = Pick<ClientRequest, 'path' | 'method' | 'headers'> & {
  readonly body?: () => ClientRequest['body'];
  /** What decide says of it. */
  readonly reason?: string;
};

const cases: Readonly<Record<string, Case>> = {
  'a GET': { path: '/v1/models', method: 'GET', reason: 'not_llm' },
  'a GET of the chat path': { path, method: 'GET', headers: json, reason: 'not_llm' },
  'a HEAD': { path: '/v1/models', method: 'HEAD', reason: 'not_llm' },
  'a DELETE': { path: '/v1/files/1', method: 'DELETE', headers: json, reason: 'not_llm' },
  'a POST to another path': { ...post('{"a":1}'), path: '/v1/batches?a=1&b', reason: 'not_llm' },
  'a POST with content-length 0': { ...post(''), reason: 'no_body' },
  'an empty chunked POST': { ...post(''), body: () => chunked([]), reason: 'no_body' },
  'a form': { ...post('a=1', { 'content-type': 'application/x-www-form-urlencoded' }), reason: 'content_type' },
  'a body of another charset': {
    ...post(warm(), { 'content-type': 'application/json; charset=latin1' }),
    reason: 'content_type',
  },
  'a compressed body': { ...post('not really gzip', { 'content-encoding': 'gzip' }), reason: 'unsupported_encoding' },
  'a body that is not JSON': { ...post('{"model": oops'), reason: 'unparseable' },
  'a body that is not UTF-8': { ...post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), reason: 'unparseable' },
  'JSON with a name twice': { ...post('{"model":"a","model":"b"}'), reason: 'unparseable' },
  'an opted-out call': { ...post(warm(), { 'x-coalesce': 'never' }), reason: 'opt_out' },
  'a call bypassed after its body was read': {
    ...post(warm(), { 'accept-encoding': 'gzip, br', 'x-own': 'kept' }),
    reason: 'nondeterministic',
  },
  'a call without credentials': {
    ...post(warm()),
    headers: { 'content-type': 'application/json' },
    reason: 'no_tenant',
  },
  'a small chunked upload': { ...post(''), body: () => chunked([warm(1_000)]), reason: 'nondeterministic' },
  'a chunked upload in pieces': {
    ...post(''),
    body: () => chunked(warm(60_000).match(/.{1,9000}/gs) ?? []),
    reason: 'nondeterministic',
  },
  'a chunked upload of 1.5 MB': { ...post(''), body: () => chunked([warm(1_500_000)]), reason: 'too_large' },
  'a chunked upload of 3 MB': { ...post(''), body: () => chunked([warm(3_000_000)]), reason: 'too_large' },
  'a request of 2 MB': { ...post(warm(2_000_000)), reason: 'too_large' },
  'a request of 1,048,570 bytes': { ...post(warm(1_048_570)), reason: 'nondeterministic' },
  'a request one byte over the limit': { ...post(warm(1_048_577)), reason: 'too_large' },
  'a request that expects 100-continue': { ...post(warm(), { expect: '100-continue' }), reason: 'nondeterministic' },
};

const script = {
  body: [Buffer.from('{"the":"answer"}')],
  framing: 'length',
  gzip: true,
  headers: [
    ['content-type', 'application/json'],
    ['x-upstream', 'one'],
    ['x-upstream', 'two'],
    ['set-cookie', 'a=1'],
  ],
} as const;

type Seen = { readonly upstream: object; readonly client: object };

describe('without the filters', () => {
  const plain = new SharedStack({ leg: 'attached', filters: false, mock: { script } });
  const seen = new Map<string, Seen>();

  beforeAll(async () => {
    for (const version of [1, 2] as const) {
      for (const name of Object.keys(cases)) seen.set(`${version} ${name}`, await see(plain, name, version));
    }
  });

  describe.each(['attached', 'detached'] as const)('and with them, %s', (leg) => {
    const shared = new SharedStack({ leg, mock: { script } });

    describe.each([1, 2] as const)('over HTTP/%i', (version) => {
      test.each(Object.keys(cases))('%s is the same', async (name) => {
        expect(await see(shared, name, version)).toEqual(seen.get(`${version} ${name}`));
        const { reason = '' } = cases[name] ?? {};
        await shared.waitForCount(`coalesce_bypass_total{reason="${reason}"}`, 1);
        expect(await shared.logLine(idOf(name, version))).toMatchObject({ outcome: 'bypass', reason });
      });
    });

    test('a WebSocket echoes every byte', async () => {
      const socket = await openSocket(shared.stack.ingress.port);
      socket.write(
        [`GET ${path} HTTP/1.1`, 'host: llm.example', 'connection: Upgrade', 'upgrade: websocket'].join('\r\n') +
          '\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\nx-request-id: websocket\r\n\r\n',
      );
      await socket.waitForText('101 Switching Protocols');
      socket.write('every byte');
      await socket.waitForText('every byte');
      socket.write('comes back');
      await socket.waitForText('comes back');
      socket.close();
      expect(await shared.logLine('websocket')).toMatchObject({ status: 101, outcome: 'bypass', reason: 'upgrade' });
    });
  });
});

describe.each(['attached', 'detached'] as const)('%s, with Envoy’s default buffer', (leg) => {
  const shared = new SharedStack({ leg, mock: { script }, mutateEnvoy: useDefaultBuffer });

  test.each([1_048_570, 2_000_000])('a request of %i bytes arrives as it was sent', async (length) => {
    const body = paddedTo(length, { model: 'm', messages: [], temperature: 0 });
    const exchange = await send({ url: shared.stack.ingress.url, path, headers: json, body });
    expect(exchange.status).toBe(200);
    expect(shared.calls[0]?.body.toString()).toBe(body);
    expect(shared.calls[0]?.headers['content-length']).toBe(String(length));
  });
});

function useDefaultBuffer(config: EnvoyConfig): void {
  const hosts = connectionManager(config, 'ingress').route_config.virtual_hosts;
  for (const route of hosts.flatMap(({ routes }) => routes)) delete route['request_body_buffer_limit'];
}

async function see(shared: SharedStack, name: string, version: 1 | 2): Promise<Seen> {
  const { body, headers, method, path: target } = cases[name] ?? {};
  const content = body?.();
  const exchange = await send({
    url: shared.stack.ingress.url,
    version,
    method: method ?? 'POST',
    path: target ?? path,
    // The listener's port is in the default.
    headers: { ...headers, host: 'llm.example', 'x-request-id': idOf(name, version) },
    ...(content === undefined ? {} : { body: content }),
  });
  return { upstream: upstreamView(shared.stack.mock.calls.at(-1)), client: clientView(exchange) };
}

function idOf(name: string, version: 1 | 2): string {
  return `${name} over ${version}`;
}

function upstreamView(call: MockCall | undefined): object {
  if (call === undefined) throw new Error('the upstream saw nothing');
  const { method, url, rawHeaders, bodySha256, body } = call;
  return { method, url, headers: fields(rawHeaders), bodySha256, bodyLength: body.length };
}

function clientView({ status, rawHeaders, body, trailers, ending }: Exchange): object {
  return { status, ending, body: body.toString('hex'), trailers, headers: fields(rawHeaders) };
}

/** What two sendings of one request differ in anyway. */
const ofTheMoment = ['date', 'x-mock-call', 'x-envoy-upstream-service-time'];

function fields(raw: readonly string[]): string[] {
  const names = raw.filter((_, index) => index % 2 === 0);
  const lines = names.map((name, index) => `${name}: ${raw[index * 2 + 1]}`);
  return lines.filter((_, index) => !ofTheMoment.includes((names[index] ?? '').toLowerCase())).sort();
}
