import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { repositoryRoot } from '../../harness/root.ts';
import { knownKeys } from '../../src/config/definition.ts';
import { renderEffective } from '../../src/config/effective.ts';
import { readConfig } from '../../src/config/read.ts';
import { schemaText } from '../../src/config/schema/json-schema.ts';
import { readShipped } from '../support/deployed.ts';

const schema = JSON.parse(schemaText()) as object;
const accepts = new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false }).compile(schema);

const read = (text: string): ReturnType<typeof readConfig> => {
  return readConfig(text, { file: 'c.yaml', readFile: () => 'x'.repeat(40) });
};

/** Every configuration of the processor that the repository has. */
const shipped = ['envoy', 'deploy'].flatMap((folder) => {
  const files = readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /(^|\/)coalescer(\.\w+)?\.yaml$/.test(file)).map((file) => `${folder}/${file}`);
});

describe('the JSON schema', () => {
  it('in envoy/ is what the definition makes (npx vitest run test/unit/config-schema.test.ts -u)', async () => {
    await expect(schemaText()).toMatchFileSnapshot(join(repositoryRoot, 'envoy', 'coalescer.schema.json'));
  });

  it('tells every default that check prints', () => {
    const told = (at: unknown): unknown => {
      if (typeof at !== 'object' || at === null) return undefined;
      if (!('properties' in at)) return 'default' in at ? at.default : undefined;
      const members = Object.entries(at.properties ?? {}).map(([name, inner]) => [name, told(inner)] as const);
      return Object.fromEntries(members.filter(([, value]) => value !== undefined));
    };
    const result = read('{}');
    expect(told(schema)).toEqual(parse(result.kind === 'config' ? renderEffective(result.config) : ''));
  });

  it.each(shipped.filter((file) => !file.includes('grafana')))('accepts %s', (file) => {
    expect(accepts(parse(readShipped(file))), JSON.stringify(accepts.errors)).toBe(true);
  });

  it('sees the shipped configurations', () => {
    expect(shipped.length).toBeGreaterThanOrEqual(5);
  });

  it.each([
    'listen: [127.0.0.1:1, "unix:/run/c.sock"]',
    'probes: null',
    'limits: {max_request_bytes: 4096, max_replay_bytes: 1GiB, max_replay_bytes_total: 2GiB}',
    'retry: {on: [connect_failure, 503, "504"]}',
    'negative_cache: {statuses: [400, "404"]}',
    'key: {include: [{header: x-a}, {metadata: {namespace: n, path: [p]}}], normalize: [strip_timestamps, {strip_nonces: ["[0-9]{8}"]}]}',
    'tenant: {from: [{sigv4: access_key}, {all: [{header: a}, {query: b}]}, {attribute: source.address}]}',
    'policies: {a: null, b: {mode: off, match: {route: r}}, c: {match: null}}',
    'profiles: [{name: mine, path: "/llm/{model}/talk", like: openai-chat, model: path}]',
    'profiles: [{name: mine, path: /llm/chat, like: openai-chat, stream: {body: s}}]',
  ])('accepts what the reader accepts: %s', (text) => {
    expect(read(text)).toMatchObject({ kind: 'config' });
    expect(accepts(parse(text)), JSON.stringify(accepts.errors)).toBe(true);
  });

  it.each([
    'lisen: 127.0.0.1:1',
    'mode: on',
    'listen: 9002',
    'listen: []',
    'admin: localhost',
    'drain: soon',
    'drain: 5',
    'rollout: 101',
    'limits: {max_waiters: 0}',
    'limits: {max_request_bytes: 1GB}',
    'limits: {max_request_bytes: 32505857}',
    'tenant: {from: [{header: a, query: b}]}',
    'tenant: {from: [{}]}',
    'key: {normalize: [shout]}',
    'key: {ignore_body: [metadata]}',
    'key: {include: [{}]}',
    'retry: {on: ["200"]}',
    'negative_cache: {statuses: [429]}',
    'policies: {default: {}}',
    'policies: {1a: {}}',
    'policies: {a: {listen: "127.0.0.1:1"}}',
    'policies: {a: {match: {}}}',
    'policies: {a: {match: {path_prefix: v1}}}',
    'profiles: [{name: mine}]',
    'profiles: [{name: mine, path: /a, like: none}]',
    'profiles: [{name: mine, path: /a, like: openai-chat, stream: 5}]',
  ])('refuses what the reader refuses: %s', (text) => {
    expect(read(text)).toMatchObject({ kind: 'mistakes' });
    expect(accepts(parse(text))).toBe(false);
  });

  it('accepts every configuration that the reader accepts', () => {
    const values = fc.constantFrom<unknown>(
      ...['1s', '0s', '1KiB', 'off', 'any', '127.0.0.1:1', '[::1]:1', 'unix:/a', 'http://h:1', 'a', '/a/*', '/', ''],
      ...[0, 1, 100, 0.5, 503, 404, true, null, [], {}],
      ...[{ compare: 1 }, { max_waiters: 1 }, { level: 'info' }, { max_bytes: 4096 }, { from: [{ header: 'X-A' }] }],
      ...[{ a: {} }, { a: { mode: 'off' } }, { on: ['connect_failure', 500] }, ['unix:/a'], ['127.0.0.1:1']],
    );
    const keys = fc.constantFrom(...new Set(knownKeys().map((key) => key.split('.')[0] ?? '')));
    let accepted = 0;
    fc.assert(
      fc.property(fc.dictionary(keys, values, { maxKeys: 2 }), (value) => {
        if (accepts(value)) accepted += 1;
        // Reading takes long.
        else expect(read(JSON.stringify(value)).kind, JSON.stringify([value, accepts.errors])).toBe('mistakes');
      }),
      { numRuns: 300 },
    );
    expect(accepted).toBeGreaterThan(20);
  });
});
