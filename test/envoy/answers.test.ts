/** Answers of every shape reach leader and followers alike: framing, end, trailers, encoding, status and headers. */
import { describe, expect, test } from 'vitest';
import { type ClientRequest, type Exchange, send } from '../../harness/http-client.ts';
import type { MockScript } from '../../harness/mock-llm.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg });

  /** A leader and three followers, of both protocols, each with an `x-request-id` for the access log. */
  function fourCallers(prompt: string, options: Parameters<SharedStack['chat']>[1] = {}): ClientRequest[] {
    return [1, 1, 2, 2].map((version, index) => {
      const headers = { ...options.headers, 'x-request-id': requestId(prompt, index) };
      return shared.chat(prompt, { ...options, version: version === 1 ? 1 : 2, headers });
    });
  }

  function requestId(prompt: string, index: number): string {
    return `${prompt.replaceAll(' ', '-')}-${index}`;
  }

  async function fly(requests: readonly ClientRequest[], script: Partial<MockScript>): Promise<Exchange[]> {
    return allDone(await shared.fly(requests, script));
  }

  /** The callers' answers, after a check that they were made by one call and that none of them ended early. */
  async function flyWhole(
    prompt: string,
    script: Partial<MockScript>,
    options: Parameters<SharedStack['chat']>[1] = {},
  ): Promise<Exchange[]> {
    const exchanges = await fly(fourCallers(prompt, options), script);
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0], script.status ?? 200);
    for (const index of exchanges.keys()) {
      const { flags } = await shared.logLine(requestId(prompt, index));
      // `-`: nothing to report. DC would say that the client left before the end.
      expect(flags ?? '-').toBe('-');
    }
    return exchanges;
  }

  test('a plain JSON answer keeps its length for the followers', async () => {
    const [leader, ...followers] = await flyWhole('json', { framing: 'length' }, { body: { stream: false } });
    const length = String(leader?.body.length);
    expect(followers.map(({ headers }) => headers['content-length'])).toEqual([length, length, length]);
    // A leader that counts its bytes would hang up before the end has passed the processor.
    expect(leader?.headers['content-length']).toBe(leg === 'attached' ? undefined : length);
  });

  test('a JSON answer of 900 kB arrives whole', async () => {
    const script = { framing: 'length', tokens: 30, tokenBytes: 30_000 } as const;
    const exchanges = await flyWhole('large json', script, { body: { stream: false } });
    expect(exchanges[3]?.body.length).toBeGreaterThan(900_000);
  });

  test('a stream of large chunks arrives whole', async () => {
    const exchanges = await flyWhole('large chunks', { tokens: 20, tokenBytes: 100_000 });
    expect(exchanges[3]?.body.length).toBeGreaterThan(2_000_000);
  });

  test.each<[string, Partial<MockScript>]>([
    ['an empty chunked answer', { body: 'none' }],
    ['an answer with content-length 0', { body: 'none', framing: 'length' }],
    ['204', { status: 204, body: 'none' }],
    ['304', { status: 304, body: 'none' }],
  ])('%s is no body for anyone, and a clean end', async (name, script) => {
    const exchanges = await flyWhole(`empty ${name}`, script);
    expect(exchanges.map(({ body }) => body.length)).toEqual([0, 0, 0, 0]);
  });

  test('an answer that ends with its connection arrives whole', async () => {
    await flyWhole('close-delimited', { framing: 'close' });
  });

  test('trailers reach everybody', async () => {
    const trailers = [['x-checksum', 'abc']] as const;
    const exchanges = await flyWhole('trailers', { trailers });
    expect(exchanges.map((exchange) => exchange.trailers)).toEqual(Array(4).fill({ 'x-checksum': 'abc' }));
  });

  test('trailers behind an empty body reach everybody', async () => {
    const exchanges = await flyWhole('trailers alone', { trailers: [['x-checksum', 'abc']], body: 'none' });
    expect(exchanges.map((exchange) => exchange.trailers)).toEqual(Array(4).fill({ 'x-checksum': 'abc' }));
  });

  test.each([
    ['gzip', undefined],
    [undefined, 'gzip'],
    ['gzip, br', 'gzip'],
  ])('where the leader accepts %s and a follower %s, one answer that both can read is made', async (first, second) => {
    const accepting = (encoding: string | undefined): ClientRequest =>
      shared.chat(`encoding ${first} ${second}`, {
        headers: encoding === undefined ? {} : { 'accept-encoding': encoding },
      });
    const exchanges = await fly([accepting(first), accepting(second)], { gzip: true });
    expect(shared.calls).toHaveLength(1);
    expect(shared.calls[0]?.headers['accept-encoding']).toBe('identity');
    expectWhole(exchanges, shared.calls[0]);
    expect(exchanges.map(({ headers }) => headers['content-encoding'])).toEqual([undefined, undefined]);
  });

  test('an answer that is compressed all the same says so to everybody', async () => {
    const headers = [['content-encoding', 'br']] as const;
    const exchanges = await flyWhole('compressed unasked', { headers });
    expect(exchanges.map((exchange) => exchange.headers['content-encoding'])).toEqual(Array(4).fill('br'));
  });

  test.each([400, 401, 429, 500, 503])(
    'status %i reaches everybody with its body, and nothing of it is kept',
    async (status) => {
      const error = Buffer.from(`{"error":{"message":"status ${status}"}}`);
      const headers = [
        ['content-type', 'application/json'],
        ['retry-after', '7'],
      ] as const;
      const prompt = `error ${status}`;
      const exchanges = await flyWhole(prompt, { status, headers, body: [error], framing: 'length' });
      const seen = exchanges.map((exchange) => [exchange.headers['retry-after'], exchange.headers['content-type']]);
      expect(seen).toEqual(Array(4).fill(['7', 'application/json']));
      shared.answerWith({});
      const next = await send(shared.chat(prompt));
      expectWhole([next], shared.calls[1]);
    },
  );

  test('what belongs to the leader is not replayed to followers', async () => {
    const own = {
      'set-cookie': 'session=leader',
      'x-request-id': 'upstream-made-1',
      'x-ratelimit-remaining-requests': '17',
      'openai-organization': 'org-leader',
      'openai-processing-ms': '12',
      'x-unheard-of': 'something',
    };
    const common = { 'openai-version': '2020-10-01', 'cache-control': 'no-store' };
    const headers = Object.entries({ ...own, ...common });
    const [leader, ...followers] = await flyWhole('headers', { headers });
    expect(leader?.headers).toMatchObject({ ...own, ...common });
    for (const follower of followers) {
      expect(follower.headers).toMatchObject({ ...common, 'content-type': 'text/event-stream' });
      for (const name of Object.keys(own)) expect(follower.headers, name).not.toHaveProperty(name);
    }
  });

  test('cache-status says who led and who followed, behind what the upstream said', async () => {
    const headers = [['cache-status', 'Origin; hit']] as const;
    const exchanges = await flyWhole('cache status', { headers });
    const [leader, ...followers] = exchanges.map((exchange) => exchange.headers['cache-status']);
    expect(leader).toBe('Origin; hit, coalescer; fwd=miss');
    expect(followers).toEqual(Array(3).fill('coalescer; fwd=miss; collapsed'));
  });

  test('a repeated header keeps all its values', async () => {
    const headers = [
      ['x-note', 'one'],
      ['cache-control', 'no-store'],
      ['x-note', 'two'],
      ['cache-control', 'private'],
    ] as const;
    const [leader, ...followers] = await flyWhole('repeated headers', { headers });
    expect(leader?.headers['x-note']).toBe('one, two');
    const cacheControls = [leader, ...followers].map((exchange) => exchange?.headers['cache-control']?.split(/, ?/));
    expect(cacheControls).toEqual(Array(4).fill(['no-store', 'private']));
  });

  test('several cookies reach the attached leader, and the last one the detached leader', async () => {
    const headers = [
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ] as const;
    const [leader] = await flyWhole('two cookies', { headers });
    const cookies = leader?.rawHeaders.filter((_, at, raw) => raw[at - 1]?.toLowerCase() === 'set-cookie');
    // Envoy's streamed immediate response holds one field of a name, and cookies cannot be joined.
    expect(cookies).toEqual(leg === 'attached' ? ['a=1', 'b=2'] : ['b=2']);
  });
});
