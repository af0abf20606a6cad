/** Every block of YAML in the documents is what it seems: a configuration of the processor's, or a piece of Envoy's. */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { connectionManager, type EnvoyConfig, shippedEnvoyConfig } from '../../harness/stack.ts';
import { defaultConfig, readConfig } from '../../src/config/read.ts';
import { readDeployment } from '../../src/doctor/deployment.ts';
import { diagnose } from '../../src/doctor/diagnose.ts';
import { validateEnvoy } from '../support/deployed.ts';
import { documents, fencesOf } from '../support/documents.ts';

type Block = { readonly place: string; readonly text: string };

const blocks: Block[] = documents().flatMap(({ path, text }) =>
  fencesOf(text)
    .filter(({ kind }) => kind === 'yaml')
    .map(({ line, lines }) => ({ place: `${path}:${line}`, text: lines.join('\n') })),
);
const has = (word: RegExp) => (block: Block) => word.test(block.text);
const isOfRoute = has(/^(?:typed_per_filter_config|request_body_buffer_limit):/m);
const isOfManager = has(/^stream_idle_timeout:/m);
const ofEnvoy = blocks.filter((block) => isOfRoute(block) || isOfManager(block));
const ofProcessor = blocks.filter((block) => !ofEnvoy.includes(block));

test('there are some of each', () => {
  expect(ofEnvoy.length).toBeGreaterThan(3);
  expect(ofProcessor.length).toBeGreaterThan(3);
});

describe('the processor takes', () => {
  test.each(ofProcessor.map(({ place, text }) => [place, text] as const))('%s', (place, text) => {
    const read = readConfig(text, { file: place, readFile: (path) => (/secret/.test(path) ? 'x'.repeat(32) : '') });
    expect(read.kind === 'mistakes' ? read.mistakes : []).toEqual([]);
  });
});

describe('Envoy takes, and doctor finds nothing in', () => {
  test.each(ofEnvoy.map((block) => [block.place, block] as const))('%s', async (_place, block) => {
    const config = await shippedEnvoyConfig('attached');
    put(config, block);
    expect(await validateEnvoy(config)).toContain('OK');
    const deployment = readDeployment(config);
    expect(deployment && diagnose({ config: defaultConfig(), deployment, serverInfo: null })).toEqual([]);
  });
});

/** Where a reader would put it: into the connection manager, or into its route. */
function put(config: EnvoyConfig, block: Block): void {
  const manager = connectionManager(config, 'ingress');
  const data = parse(block.text, { merge: true }) as Record<string, object>;
  if (isOfManager(block)) {
    Object.assign(manager, data);
    return;
  }
  const route = manager.route_config.virtual_hosts[0]?.routes[0];
  if (route === undefined) throw new Error('the shipped Envoy has no route');
  const { route: action, ...others } = data;
  Object.assign(route, others);
  Object.assign(route['route'] as object, action);
}
