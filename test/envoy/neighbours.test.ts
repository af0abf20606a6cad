/** Other filters and policies of an Envoy, where the documentation places them: before decide, and behind deliver. */
import { createHmac } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { begin, type ClientRequest } from '../../harness/http-client.ts';
import { connectionManager, type EnvoyConfig, type Leg } from '../../harness/stack.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const filters = 'type.googleapis.com/envoy.extensions.filters.http';

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  describe('a compressor before decide', () => {
    const shared = new SharedStack({ leg, mutateEnvoy: addCompressor });

    test('gives each caller the encoding that it asked for', async () => {
      const accepting = (encoding: string): ClientRequest =>
        shared.chat('compressed', { body: { stream: false }, headers: { 'accept-encoding': encoding } });
      const requests = ['gzip', 'identity', 'gzip', 'identity'].map(accepting);
      const exchanges = await allDone(await shared.fly(requests, { framing: 'length', tokens: 50 }));
      expect(shared.calls).toHaveLength(1);
      const encodings = exchanges.map(({ headers }) => headers['content-encoding']);
      expect(encodings).toEqual(['gzip', undefined, 'gzip', undefined]);
      const unpacked = exchanges.map((exchange, index) =>
        index % 2 === 0 ? { ...exchange, body: gunzipSync(exchange.body) } : exchange,
      );
      expectWhole(unpacked, shared.calls[0]);
    });
  });

  describe('a retry policy behind deliver', () => {
    const shared = new SharedStack({ leg, mutateEnvoy: (config) => retryOnce(config, leg) });

    test('is invisible to the flight: everybody gets the last answer', async () => {
      const first = shared.newPacer();
      shared.answerWith(({ id }) =>
        id === shared.calls[0]?.id ? { status: 503, body: 'none', pace: first.pace } : {},
      );
      const sent = [1, 2, 3].map(() => begin(shared.chat('retried')));
      await shared.waitForJoins(2);
      first.openAll();
      const exchanges = await allDone(sent);
      expect(shared.calls).toHaveLength(2);
      expectWhole(exchanges, shared.calls[1]);
    });
  });

  describe('jwt_authn before decide', () => {
    const shared = new SharedStack({ leg, mutateEnvoy: addJwtAuthentication });

    /** The same token for the upstream, so that only the verified claims can part callers. */
    function asSubject(subject: string): ClientRequest {
      return shared.chat('claims', {
        credential: 'shared',
        headers: { 'x-jwt': token({ iss: 'issuer', sub: subject }) },
      });
    }

    test('its claims are the tenant: the same subject shares, another does not', async () => {
      const pacer = shared.pacedAnswer();
      const sent = [begin(asSubject('a')), begin(asSubject('b'))];
      await shared.waitForCalls(2);
      sent.push(begin(asSubject('a')), begin(asSubject('b')));
      await shared.waitForJoins(2);
      pacer.openAll();
      const [a1, b1, a2, b2] = await allDone(sent);
      expect(a2?.body.toString()).toBe(a1?.body.toString());
      expect(b2?.body.toString()).toBe(b1?.body.toString());
      expect(b1?.body.toString()).not.toBe(a1?.body.toString());
      expect(shared.calls).toHaveLength(2);
    });

    test('an unverified caller never reaches decide', async () => {
      const { status } = await begin(shared.chat('forged', { headers: { 'x-jwt': 'a.b.c' } })).done;
      expect(status).toBe(401);
      expect(await shared.counted('coalesce_misses_total')).toBe(0);
    });
  });
});

function addCompressor(config: EnvoyConfig): void {
  connectionManager(config, 'ingress').http_filters.unshift({
    name: 'envoy.filters.http.compressor',
    typed_config: {
      '@type': `${filters}.compressor.v3.Compressor`,
      compressor_library: {
        name: 'gzip',
        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.compression.gzip.compressor.v3.Gzip' },
      },
    },
  });
}

/** In the attached leg the leader's own request takes the ingress route, in the detached leg ours takes the egress. */
function retryOnce(config: EnvoyConfig, leg: Leg): void {
  const manager = connectionManager(config, leg === 'attached' ? 'ingress' : 'egress');
  for (const route of manager.route_config.virtual_hosts.flatMap(({ routes }) => routes)) {
    Object.assign(route['route'] as object, { retry_policy: { retry_on: '5xx', num_retries: 1 } });
  }
}

const secret = 'a secret of thirty-two bytes or so';

function addJwtAuthentication(config: EnvoyConfig): void {
  const key = { kty: 'oct', alg: 'HS256', k: Buffer.from(secret).toString('base64url') };
  connectionManager(config, 'ingress').http_filters.unshift({
    name: 'envoy.filters.http.jwt_authn',
    typed_config: {
      '@type': `${filters}.jwt_authn.v3.JwtAuthentication`,
      providers: {
        own: {
          issuer: 'issuer',
          from_headers: [{ name: 'x-jwt' }],
          local_jwks: { inline_string: JSON.stringify({ keys: [key] }) },
          payload_in_metadata: 'payload',
        },
      },
      rules: [{ match: { prefix: '/' }, requires: { provider_name: 'own' } }],
    },
  });
}

/** A token signed with HS256. */
function token(claims: object): string {
  const parts = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createHmac('sha256', secret).update(parts.join('.')).digest('base64url');
  return [...parts, signature].join('.');
}
