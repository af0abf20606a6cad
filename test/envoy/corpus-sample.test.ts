/** A sample of the key corpus through a real Envoy: who shares is told by the number of upstream calls. */
import { describe, expect, test } from 'vitest';
import { begin, type ClientRequest } from '../../harness/http-client.ts';
import { connectionManager, type EnvoyConfig, type Leg } from '../../harness/stack.ts';
import { bodyOf, corpusSample, type CorpusCase, type CorpusRequest } from '../support/corpus.ts';
import { newIssuer, withJwtAuthn } from '../support/jwt-issuer.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const sample = corpusSample(60);
const issuer = newIssuer('https://corpus.test', 'ES256');
const tokenHeader = 'x-test-token';
const samplingHeader = 'x-test-sampling';

/** As the corpus asks: where a case says so, what is not deterministic is left alone. */
const config = {
  tools: 'allow',
  identity: 'ignore',
  sampling: 'any',
  tenant: {
    from: [
      {
        all: ['iss', 'sub'].map((claim) => ({
          metadata: { namespace: 'envoy.filters.http.jwt_authn', path: ['payload', claim] },
        })),
      },
      ...['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'].map((header) => ({ header })),
      { query: 'key' },
      { sigv4: 'access_key' },
    ],
    anonymous: 'share',
  },
  policies: { seeded: { match: { route: 'seeded' }, sampling: 'seeded' } },
};

function mutateEnvoy(envoy: EnvoyConfig): void {
  withJwtAuthn([issuer], tokenHeader)(envoy);
  const routes = connectionManager(envoy, 'ingress').route_config.virtual_hosts[0]?.routes ?? [];
  const match = { prefix: '/', headers: [{ name: samplingHeader, string_match: { exact: 'seeded' } }] };
  for (const route of routes.slice(0, 1)) routes.unshift({ ...route, name: 'seeded', match });
}

function requestOf(url: string, request: CorpusRequest, { config: asked }: CorpusCase): ClientRequest {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, [value].flat()] as const);
  const token = request.tenant === undefined ? {} : { [tokenHeader]: issuer.token({ sub: request.tenant }) };
  const sampling = asked?.nondeterministic === 'bypass' ? { [samplingHeader]: 'seeded' } : {};
  const { method, path } = request;
  const body = bodyOf(request);
  const rest = body.length === 0 ? {} : { body };
  return { url, method, path, headers: { ...Object.fromEntries(headers), ...token, ...sampling }, ...rest };
}

describe.each<Leg>(['attached', 'detached'])('%s', (leg) => {
  const shared = new SharedStack({ leg, config, mutateEnvoy });

  test.for(sample.map((each) => [each.expect, each.name, each] as const))('%s: %s', async ([, , entry]) => {
    const { url } = shared.stack.ingress;
    const pacer = shared.pacedAnswer();
    const sent = [begin(requestOf(url, entry.a, entry))];
    await pacer.reached('head');
    sent.push(begin(requestOf(url, entry.b, entry)));
    if (entry.expect === 'same') await shared.waitForJoins(1);
    else await shared.waitForCalls(2);
    pacer.openAll();
    const exchanges = await allDone(sent);
    for (const exchange of exchanges) expect(exchange, entry.why).toMatchObject({ status: 200, ending: 'complete' });
    expect(shared.calls, entry.why).toHaveLength(entry.expect === 'same' ? 1 : 2);
    expect(await shared.counted('coalesce_hits_total')).toBe(entry.expect === 'same' ? 1 : 0);
    if (entry.expect === 'same') expectWhole(exchanges, shared.calls[0]);
    if (entry.expect === 'reject') expect(await shared.counted('coalesce_requests_total{outcome="bypass"}')).toBe(2);
  });
});

test('the sample has 60 cases, of all topics and of each kind', () => {
  expect(sample).toHaveLength(60);
  expect(new Set(sample.map(({ expect: kind }) => kind))).toEqual(new Set(['same', 'different', 'reject']));
});
