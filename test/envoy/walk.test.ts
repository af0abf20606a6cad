/**
 * The README's walk, as a new user takes it: a gateway of somebody's own, the fragment pasted in, what doctor says of it, what
 * shadow mode counts, what enforcing saves, a route that opts out. With a real rate limit service on both sides of the two
 * filters: users are counted one by one, the upstream is asked once.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { begin, type ClientRequest, type Sent } from '../../harness/http-client.ts';
import { repositoryRoot } from '../../harness/root.ts';
import { clusterNamed, type EnvoyConfig, setClusterPort } from '../../harness/stack.ts';
import {
  addEgress,
  disableOnSolo,
  followTheReadme,
  forgetClaims,
  pasteFragment,
  plainGateway,
} from '../support/gateway/plain-gateway.ts';
import { startRateLimitService } from '../support/gateway/rate-limit-service.ts';
import { newIssuer } from '../support/jwt-issuer.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const issuer = newIssuer('https://login.example', 'RS256');
const limits = await startRateLimitService();
const folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-walk-'));
afterAll(async () => {
  await limits.close();
  await rm(folder, { recursive: true, force: true });
});

/** Puts the user's own gateway in the place of the shipped Envoy, and takes these steps of the README. */
function gateway(...steps: ReadonlyArray<(config: EnvoyConfig) => void>): (shipped: EnvoyConfig) => void {
  return (shipped) => {
    const [llm, coalescer] = ['llm', 'coalescer'].map((name) => portOf(shipped, name));
    const own = plainGateway(issuer, { llm: llm ?? 0, limits: limits.port });
    for (const step of steps) step(own);
    if (own.static_resources.clusters.some(({ name }) => name === 'coalescer'))
      setClusterPort(own, 'coalescer', coalescer ?? 0);
    Object.assign(shipped, own);
  };
}

function portOf(config: EnvoyConfig, name: string): number {
  const endpoint = clusterNamed(config, name).load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint;
  return endpoint?.address.socket_address.port_value ?? 0;
}

const enforcing = (config: EnvoyConfig): void => pasteFragment(config, { shadow: false });
const shadowing = (config: EnvoyConfig): void => pasteFragment(config, { shadow: true });

/** As above, and in the detached leg the shipped egress listener besides. */
function withEgress(...steps: ReadonlyArray<(config: EnvoyConfig) => void>): (shipped: EnvoyConfig) => void {
  return (shipped) => {
    const egress = shipped.static_resources.listeners.find(({ name }) => name === 'egress');
    gateway(...steps, (own) => (egress === undefined ? undefined : addEgress(own, egress)))(shipped);
  };
}

type Verdict = { readonly code: number; readonly ids: string[] };

/** What `doctor --json` says of this target. */
function doctor(...target: readonly string[]): Promise<Verdict> {
  const args = [join(repositoryRoot, 'dist', 'main.js'), 'doctor', ...target, '--json'];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code !== 'number' || stderr !== '') return reject(new Error(`doctor failed: ${stderr}`));
      const lines = stdout.split('\n').filter((line) => line !== '');
      return resolve({ code, ids: lines.map((line) => (JSON.parse(line) as { id: string }).id) });
    });
  });
}

async function doctorOnFile(...steps: ReadonlyArray<(config: EnvoyConfig) => void>): Promise<Verdict> {
  const own = plainGateway(issuer, { llm: 8080, limits: 8081 });
  for (const step of steps) step(own);
  const path = join(folder, 'envoy.yaml');
  await writeFile(path, stringify(own));
  return doctor('--envoy', path);
}

/** The same question of a user of the gateway. */
function ask(shared: SharedStack, user: string, prompt = 'hello', path = ''): ClientRequest {
  const request = shared.chat(prompt, { credential: issuer.token({ sub: user }) });
  return { ...request, path: `${path}${request.path ?? ''}` };
}

describe('before the first step', () => {
  const shared = new SharedStack({ leg: 'attached', processor: false, mutateEnvoy: gateway() });

  test('the gateway works: strangers are refused, users over their limit too, and each request is a call of its own', async () => {
    limits.allow('user', 'ada', 2);
    const stranger = await begin(shared.chat('hello')).done;
    const exchanges = await allDone([1, 2, 3].map(() => begin(ask(shared, 'ada'))));
    expect(stranger.status).toBe(401);
    expect(exchanges.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 429]);
    expect(shared.calls.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer of-the-gateway',
      'Bearer of-the-gateway',
    ]);
  });
});

describe('doctor, on the way', () => {
  test('misses the filters in the gateway as it was', async () => {
    expect(await doctorOnFile()).toEqual({ code: 1, ids: ['filters_missing'] });
  });

  test('names what the routes and the listener need once the fragment is pasted in', async () => {
    expect(await doctorOnFile(shadowing)).toEqual({
      code: 1,
      ids: ['route_timeout', 'route_timeout_unsure', 'idle_timeout', 'delayed_close'],
    });
  });

  test.each(['shadowing', 'enforcing'] as const)('finds nothing after the README’s third step, %s', async (mode) => {
    const paste = mode === 'shadowing' ? shadowing : enforcing;
    expect(await doctorOnFile(paste, followTheReadme)).toEqual({ code: 0, ids: [] });
    expect(await doctorOnFile(paste, followTheReadme, disableOnSolo)).toEqual({ code: 0, ids: [] });
  });
});

describe('a gateway that verifies tokens and tells nobody of their claims', () => {
  const shared = new SharedStack({
    leg: 'attached',
    mutateEnvoy: gateway(enforcing, followTheReadme, forgetClaims),
    envoyArgs: ['--drain-time-s', '1800'],
  });

  test('has no tenants: doctor says so, and every caller goes its own way', async () => {
    const { ids } = await doctor('--admin', shared.stack.envoy.adminUrl);
    expect(ids.filter((id) => id !== 'envoy_vulnerable')).toEqual(['token_taken']);
    const exchanges = await allDone([1, 2].map(() => begin(ask(shared, 'ida'))));
    for (const exchange of exchanges) expectWhole([exchange], shared.callOf(exchange));
    expect(shared.calls).toHaveLength(2);
    expect(await shared.counted('coalesce_bypass_total{reason="no_tenant"}')).toBe(2);
  });
});

describe('shadow', () => {
  const shared = new SharedStack({
    leg: 'attached',
    mutateEnvoy: gateway(shadowing, followTheReadme),
    envoyArgs: ['--drain-time-s', '1800'],
  });

  test('doctor on the running Envoy finds nothing but what is known of its version', async () => {
    const { ids } = await doctor('--admin', shared.stack.envoy.adminUrl);
    expect(ids.filter((id) => id !== 'envoy_vulnerable')).toEqual([]);
  });

  test('every caller makes its own call, and what would be shared is counted and logged', async () => {
    const pacer = shared.pacedAnswer();
    const requests = ['first', 'second', 'third'].map((id) => {
      const request = ask(shared, 'bea');
      return { ...request, headers: { ...request.headers, 'x-request-id': id } };
    });
    const sent: Sent[] = [];
    for (const request of requests) {
      sent.push(begin(request));
      await shared.waitForCalls(sent.length);
    }
    pacer.openAll();
    for (const exchange of await allDone(sent)) expectWhole([exchange], shared.callOf(exchange));
    expect(await shared.counted('coalesce_shadow_total{verdict="would_hit"}')).toBe(2);
    expect(await shared.counted('coalesce_hits_total')).toBe(0);
    expect(await shared.logLine('first')).toMatchObject({ outcome: 'bypass', reason: 'shadow', would: 'leader' });
    expect(await shared.logLine('third')).toMatchObject({ outcome: 'bypass', reason: 'shadow', would: 'follower' });
  });
});

describe.each(['attached', 'detached'] as const)('enforced, %s', (leg) => {
  const shared = new SharedStack({ leg, mutateEnvoy: withEgress(enforcing, followTheReadme, disableOnSolo) });

  test('10 followers take 1 from the upstream’s limit, and each of them 1 from its user’s', async () => {
    const [users, upstream] = [limits.asked('user', `cy-${leg}`), limits.asked('upstream', 'llm')];
    const requests = Array.from({ length: 11 }, () => ask(shared, `cy-${leg}`));
    const exchanges = await allDone(await shared.fly(requests));
    expect(shared.calls).toHaveLength(1);
    expectWhole(exchanges, shared.calls[0]);
    expect(limits.asked('upstream', 'llm') - upstream).toBe(1);
    expect(limits.asked('user', `cy-${leg}`) - users).toBe(11);
    expect(shared.calls[0]?.headers['authorization']).toBe('Bearer of-the-gateway');
  });

  test('a user over the limit gets 429 while its prompt is in flight, and those within it the whole answer', async () => {
    limits.allow('user', `dan-${leg}`, 2);
    const pacer = shared.pacedAnswer();
    const sent = [begin(ask(shared, `dan-${leg}`))];
    await pacer.reached('head');
    sent.push(begin(ask(shared, `dan-${leg}`)));
    await shared.waitForJoins(1);
    const refused = await begin(ask(shared, `dan-${leg}`)).done;
    expect(refused).toMatchObject({ status: 429, ending: 'complete' });
    expect(refused.headers).not.toHaveProperty('cache-status');
    pacer.openAll();
    expectWhole(await allDone(sent), shared.calls[0]);
    expect(shared.calls).toHaveLength(1);
    expect(await shared.counted('coalesce_hits_total')).toBe(1);
  });

  test('the upstream’s limit, once reached, refuses everybody who asks', async () => {
    limits.allow('upstream', 'llm', 0);
    const exchanges = await allDone([1, 2].map(() => begin(ask(shared, `eve-${leg}`))));
    limits.allow('upstream', 'llm', Infinity);
    expect(exchanges.map(({ status }) => status)).toEqual([429, 429]);
    expect(shared.calls).toHaveLength(0);
  });

  test('two users with one prompt do not share', async () => {
    const pacer = shared.pacedAnswer();
    const sent = ['fay', 'gus'].map((user) => begin(ask(shared, `${user}-${leg}`)));
    await shared.waitForCalls(2);
    pacer.openAll();
    for (const exchange of await allDone(sent)) expectWhole([exchange], shared.callOf(exchange));
    expect(await shared.counted('coalesce_hits_total')).toBe(0);
  });

  test('a route on which both filters are disabled passes by: the processor is not asked', async () => {
    const pacer = shared.pacedAnswer();
    const sent = [1, 2, 3].map(() => begin(ask(shared, `hal-${leg}`, 'hello', '/solo')));
    await shared.waitForCalls(3);
    pacer.openAll();
    for (const exchange of await allDone(sent)) {
      expectWhole([exchange], shared.callOf(exchange));
      expect(exchange.headers).not.toHaveProperty('cache-status');
    }
    for (const outcome of ['leader', 'follower', 'bypass'])
      expect(await shared.counted(`coalesce_requests_total{outcome="${outcome}"}`)).toBe(0);
  });
});
