/** What explain says of a captured request is what the processor does with it behind a real Envoy. */
import { describe, expect, test, vi } from 'vitest';
import { send } from '../../harness/http-client.ts';
import { connectionManager, type EnvoyConfig } from '../../harness/stack.ts';
import { explain } from '../../src/cli/explain.ts';
import { SharedStack } from '../support/shared-stack.ts';

const secret = 'a secret of more than thirty-two bytes';
/** The tenant comes from an attribute too: only decide gets those. */
const config = {
  key: { secret, normalize: ['collapse_whitespace'] },
  tenant: { from: [{ all: [{ header: 'authorization' }, { attribute: 'request.host' }] }] },
};

function sendHostToo(envoy: EnvoyConfig): void {
  const decide = connectionManager(envoy, 'ingress').http_filters.find(({ name }) => name === 'coalesce.decide');
  const attributes = decide?.typed_config['request_attributes'] as string[];
  attributes.push('request.host');
}

describe.each(['attached', 'detached'] as const)('%s', (leg) => {
  const shared = new SharedStack({ leg, config, mutateEnvoy: sendHostToo });

  test('the key of explain is that of the processor under the same secret', async () => {
    const request = shared.chat('explain  me', { headers: { host: 'llm.example', 'x-unknown': '1' } });
    await send(request);
    // The flight's line and the exchange's.
    const logged = await vi.waitFor(async () => {
      const lines = (await shared.stack.processor.log()).filter((line) => typeof line['key8'] === 'string');
      expect(lines).toHaveLength(2);
      return lines.map((line) => line['key8']);
    });
    const captured = {
      method: 'POST',
      ...request,
      attributes: { 'xds.route_name': 'llm', 'xds.cluster_name': 'llm', 'request.host': 'llm.example' },
    };
    const result = explain(
      { config: 'c.yaml', policy: null, json: true, requests: [] },
      { readFile: () => JSON.stringify(config), readStdin: () => Buffer.from(JSON.stringify(captured)) },
    );
    const explained = JSON.parse(result.stdout) as { key: string; tenant_source: string };
    expect(explained.tenant_source).toBe('all(header:authorization, attribute:request.host)');
    expect(logged).toEqual(Array(2).fill(explained.key.slice(0, 8)));
  });
});
