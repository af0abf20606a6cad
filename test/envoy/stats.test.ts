/**
 * Twenty thousand exchanges of mixed kinds through one Envoy: none failed open, none timed out, no header was rejected, and
 * the connections to the processor are changed before Node resets them.
 */
import type { ClientHttp2Session } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Agent, request } from 'undici';
import { chat, openSession, send } from '../../harness/http-client.ts';
import { SharedStack } from '../support/shared-stack.ts';

const total = 20_000;
const concurrency = 32;

type Kind = {
  readonly method?: 'GET' | 'POST';
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
};

/** Kinds in turn. Those of a round are the same for eight exchanges in a row, so that flights have followers. */
const kinds: ReadonlyArray<(round: number) => Kind> = [
  () => ({ method: 'GET', path: '/v1/models' }),
  (round) => chat(`shared ${round}`),
  (round) => chat(`shared ${round}`),
  (round) => chat(`shared whole ${round}`, { body: { stream: false }, headers: { 'x-mock-framing': 'length' } }),
  (round) => chat(`anthropic ${round}`, { api: 'anthropic' }),
  (round) => chat(`error ${round}`, { headers: { 'x-mock-status': '429', 'x-mock-headers': '{"retry-after":"1"}' } }),
  (round) => chat(`empty ${round}`, { headers: { 'x-mock-status': '204', 'x-mock-body': 'none' } }),
  (round) => chat(`trailers ${round}`, { headers: { 'x-mock-trailers': '{"x-sum":"1"}' } }),
  (round) => chat(`warm ${round}`, { body: { temperature: 1 } }),
  () => chat('never', { headers: { 'x-coalesce': 'never' } }),
  () => ({ ...chat('broken'), body: '{"model": oops' }),
  (round) => chat(`large ${round}`, { headers: { 'x-mock-token-bytes': '20000' } }),
];

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg, mock: { script: { tokens: 3 } } });
  const agent = new Agent({ connections: concurrency });
  let session: ClientHttp2Session;
  beforeAll(async () => {
    session = await openSession(shared.stack.ingress.url);
  });
  afterAll(async () => {
    session.destroy();
    await agent.destroy();
  });

  test(`${total} exchanges leave every counter of trouble at 0`, { timeout: 180_000 }, async () => {
    const statuses = new Map<number, number>();
    let begun = 0;
    const work = async (): Promise<void> => {
      while (begun < total) {
        const index = begun;
        begun += 1;
        const status = await exchange(index);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    expect(new Set(statuses.keys())).toEqual(new Set([200, 204, 429]));
    await expectNoTrouble();
    expect(await shared.counted('coalesce_hits_total')).toBeGreaterThan(1_000);
  });

  async function expectNoTrouble(): Promise<void> {
    const stats = await shared.stack.envoy.stats('ext_proc|cluster.coalescer');
    const filters = ['decide', 'deliver'].map((filter) => `http.ingress.ext_proc.${filter}`);
    const troubles = ['failure_mode_allowed', 'message_timeouts', 'rejected_header_mutations'];
    const names = [
      ...filters.flatMap((filter) => troubles.map((trouble) => `${filter}.${trouble}`)),
      'cluster.coalescer.upstream_cx_destroy_remote_with_active_rq',
      'cluster.coalescer.upstream_rq_pending_overflow',
    ];
    expect(names.map((name) => [name, stats.get(name)])).toEqual(names.map((name) => [name, 0]));
    for (const filter of filters) expect(stats.get(`${filter}.streams_started`), filter).toBeGreaterThan(1_000);
    // Node's HTTP/2 server would end a connection after 1,000 resets, and every exchange on it.
    expect(stats.get('cluster.coalescer.upstream_cx_max_requests')).toBeGreaterThan(5);
  }

  /** One in four over HTTP/2, the others over connections that are kept. */
  async function exchange(index: number): Promise<number> {
    const make = kinds[Math.floor(index / 8) % kinds.length];
    const { method = 'POST', path = '/', headers = {}, body } = make?.(Math.floor(index / (8 * kinds.length))) ?? {};
    const origin = shared.stack.ingress.url;
    if (index % 4 === 0) {
      const { status, ending } = await send({
        url: origin,
        version: 2,
        session,
        method,
        path,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      expect(ending).toBe('complete');
      return status;
    }
    const answer = await request(origin + path, { dispatcher: agent, method, headers, body: body ?? null });
    await answer.body.arrayBuffer();
    return answer.statusCode;
  }
});
