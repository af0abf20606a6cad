/** Nothing that a caller can send makes it share with another tenant, on an Envoy that verifies tokens in front of decide. */
import { describe, expect, test } from 'vitest';
import { begin, chat, type ClientRequest } from '../../harness/http-client.ts';
import { connectionManager, type EnvoyConfig, type Leg } from '../../harness/stack.ts';
import { newIssuer, withJwtAuthn } from '../support/jwt-issuer.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';
import { confusions, controls, policiesByHost, type Caller, type Confusion } from '../support/tenant-confusions.ts';

const issuers = { a: newIssuer('https://a.test', 'RS256'), b: newIssuer('https://b.test', 'ES256') };

const policies = Object.fromEntries(
  Object.entries(policiesByHost).map(([authority, policy]) => [
    authority.replace('.test', ''),
    { match: { authority }, ...policy },
  ]),
);

function mutateEnvoy(config: EnvoyConfig): void {
  withJwtAuthn(Object.values(issuers))(config);
  const manager = connectionManager(config, 'ingress');
  manager['forward_client_cert_details'] = 'ALWAYS_FORWARD_ONLY';
  const routes = manager.route_config.virtual_hosts[0]?.routes ?? [];
  const blue = { prefix: '/', headers: [{ name: 'user-agent', string_match: { exact: 'blue' } }] };
  for (const route of routes.slice(0, 1)) routes.unshift({ ...route, name: 'blue', match: blue });
}

function requestOf(shared: SharedStack, caller: Caller, { host, what }: Confusion): ClientRequest {
  const { claims, issuer = 'a', headers = {}, query = '' } = caller;
  const token = claims === undefined ? {} : { authorization: `Bearer ${issuers[issuer].token(claims)}` };
  return {
    url: shared.stack.ingress.url,
    path: `/v1/chat/completions${query}`,
    headers: { 'content-type': 'application/json', ...(host === undefined ? {} : { host }), ...token, ...headers },
    body: chat(what).body,
  };
}

/** The first is upstream, without an answer, when the second comes. */
async function together(shared: SharedStack, confusion: Confusion, joins: (count: number) => Promise<void>) {
  const [first, second] = confusion.callers;
  const pacer = shared.pacedAnswer();
  const sent = [begin(requestOf(shared, first, confusion))];
  await pacer.reached('head');
  sent.push(begin(requestOf(shared, second, confusion)));
  await joins(1);
  pacer.openAll();
  return allDone(sent);
}

describe.each<Leg>(['attached', 'detached'])('%s', (leg) => {
  const shared = new SharedStack({ leg, config: { policies }, mutateEnvoy });

  test.for(confusions.map((each) => [each.what, each] as const))('apart: %s', async ([, confusion]) => {
    const exchanges = await together(shared, confusion, () => shared.waitForCalls(2));
    for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
    expect(new Set(exchanges.map((exchange) => shared.callOf(exchange)?.id)).size).toBe(2);
    expect(shared.calls).toHaveLength(2);
    expect(await shared.counted('coalesce_hits_total')).toBe(0);
  });

  test.for(controls.map((each) => [each.what, each] as const))('together: %s', async ([, control]) => {
    const exchanges = await together(shared, control, (count) => shared.waitForJoins(count));
    expectWhole(exchanges, shared.calls[0]);
    expect(shared.calls).toHaveLength(1);
  });

  test('no token that the issuer did not sign gets anywhere', async () => {
    const claims = { sub: 'u1' };
    const imposter = newIssuer(issuers.a.name, 'RS256');
    const request = requestOf(shared, { headers: { authorization: `Bearer ${imposter.token(claims)}` } }, control);
    expect(await begin(request).done).toMatchObject({ status: 401 });
    expect(shared.calls).toHaveLength(0);
  });
});

const control: Confusion = { what: 'forged', callers: [{}, {}] };

test('there are at least 20 kinds of confusion, each of its own name', () => {
  const names = [...confusions, ...controls].map(({ what }) => what);
  expect(new Set(names).size).toBe(names.length);
  expect(confusions.length).toBeGreaterThanOrEqual(20);
});
