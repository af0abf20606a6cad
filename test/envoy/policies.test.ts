/** Which policy applies to a request, by what the file matches and by what Envoy names, and what a rollout leaves alone. */
import { describe, expect, test } from 'vitest';
import { burst, send } from '../../harness/http-client.ts';
import { connectionManager, type EnvoyConfig } from '../../harness/stack.ts';
import { allDone, expectWhole, SharedStack } from '../support/shared-stack.ts';

const policies = {
  off: { match: { path_prefix: '/v1/messages' }, mode: 'off' },
  loose: { match: { authority: 'loose.example' }, sampling: 'any' },
  half: { match: { authority: 'half.example' }, rollout: 50, shadow: { compare: 1 } },
};

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg, config: { policies } });

  const to = (authority: string) => ({ headers: { host: authority }, body: { temperature: 1 } });

  test('the policy whose match holds applies, and no other', async () => {
    const strict = await allDone(burst(3, shared.chat('sampled', to('strict.example'))));
    expect(new Set(strict.map(({ headers }) => headers['x-mock-call'])).size).toBe(3);
    const pacer = shared.pacedAnswer();
    const sent = burst(3, shared.chat('sampled', to('loose.example')));
    await shared.waitForJoins(2);
    pacer.openAll();
    expectWhole(await allDone(sent), shared.calls.at(-1));
    expect(shared.calls).toHaveLength(4);
  });

  test('a path that a policy turns off goes its own way', async () => {
    await allDone(burst(3, shared.chat('off', { api: 'anthropic' })));
    expect(shared.calls).toHaveLength(3);
    expect(await shared.counted('coalesce_bypass_total{reason="mode_off"}')).toBe(3);
  });

  test('a rollout shares its keys, counts the others, and harms no answer', async () => {
    const prompts = 24;
    const pacer = shared.pacedAnswer();
    const sent = burst(prompts * 2, (index) =>
      shared.chat(`prompt ${index % prompts}`, { headers: { host: 'half.example' } }),
    );
    const wouldHit = 'coalesce_shadow_total{verdict="would_hit"}';
    await expect
      .poll(async () => (await shared.counted('coalesce_hits_total')) + (await shared.counted(wouldHit)), {
        timeout: 10_000,
      })
      .toBe(prompts);
    pacer.openAll();
    for (const exchange of await allDone(sent)) expect(exchange).toMatchObject({ status: 200, ending: 'complete' });
    const [shares, shadows] = [await shared.counted('coalesce_hits_total'), await shared.counted(wouldHit)];
    expect(Math.min(shares, shadows)).toBeGreaterThan(0);
    expect(shared.calls).toHaveLength(prompts + shadows);
    await shared.waitForCount('coalesce_shadow_total{verdict="same"}', shadows);
  });
});

describe('a policy that Envoy names', () => {
  const naming =
    (text: string) =>
    (config: EnvoyConfig): void => {
      const [decide] = connectionManager(config, 'ingress').http_filters.filter(
        ({ name }) => name === 'coalesce.decide',
      );
      const service = decide?.typed_config['grpc_service'] as { initial_metadata: unknown[] };
      service.initial_metadata.push({ key: 'x-coalesce-policy', value: text });
    };

  describe('and the file has', () => {
    const shared = new SharedStack({ leg: 'attached', config: { policies }, mutateEnvoy: naming('loose') });

    test('applies whatever the file would match, and whatever a client says', async () => {
      const pacer = shared.pacedAnswer();
      const request = shared.chat('named', {
        body: { temperature: 1 },
        headers: { host: 'half.example', 'x-coalesce-policy': 'off' },
      });
      const sent = burst(2, request);
      await shared.waitForJoins(1);
      pacer.openAll();
      expectWhole(await allDone(sent), shared.calls[0]);
    });
  });

  describe('and nobody has defined', () => {
    const shared = new SharedStack({ leg: 'attached', config: { policies }, mutateEnvoy: naming('missing') });

    test('turns coalescing off', async () => {
      await send(shared.chat('unnamed'));
      expect(await shared.counted('coalesce_bypass_total{reason="mode_off"}')).toBe(1);
    });
  });
});
