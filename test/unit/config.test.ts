import { describe, expect, it } from 'vitest';

import { renderEffective } from '../../src/config/effective.ts';
import { printMistake } from '../../src/config/mistakes/mistakes.ts';
import { defaultConfig, readConfig } from '../../src/config/read.ts';
import type { ReadFile } from '../../src/config/read.ts';
import type { Config } from '../../src/config/definition.ts';

const secret = 'a secret of more than thirty-two bytes';

const noFile: ReadFile = (path) => {
  throw new Error(`ENOENT: ${path}`);
};

function read(text: string, readFile: ReadFile = noFile): Config {
  const result = readConfig(text, { file: 'c.yaml', readFile });
  if (result.kind === 'mistakes') throw new Error(result.mistakes.map(printMistake).join('\n'));
  return result.config;
}

function mistakes(text: string, readFile: ReadFile = noFile): string[] {
  const result = readConfig(text, { file: 'c.yaml', readFile });
  return result.kind === 'mistakes' ? result.mistakes.map(printMistake) : [];
}

const documentedDefaults = `
listen: [127.0.0.1:9002]
admin: 127.0.0.1:9003
probes: null
mode: enforce
egress: null
orphan_grace: 2s
tenant:
  from:
  - all: [{metadata: {namespace: envoy.filters.http.jwt_authn, path: [payload, iss]}}, {metadata: {namespace: envoy.filters.http.jwt_authn, path: [payload, sub]}}]
  - header: authorization
  - header: x-api-key
  - header: api-key
  - header: x-goog-api-key
  - query: key
  anonymous: bypass
sampling: deterministic
tools: bypass
identity: keep
key: {secret: null, secret_file: null, include: [], ignore_headers: [], ignore_body: [], normalize: []}
limits: {max_waiters: 32, max_waiters_total: 10000, max_generations: 4, max_flights: 10000, max_request_bytes: 1MiB, max_request_bytes_total: 256MiB, max_replay_bytes: 8MiB, max_replay_bytes_total: 256MiB, max_loop_delay: 2s, ticket_ttl: 10s, release_rate: 50}
late_join: {max_events: 1000, max_bytes: 1MiB, max_age: 60s}
deadlines: {first_byte: 10m, idle: 5m, total: 30m, wait: 15m, keep_alive: 0s}
retry: {max_attempts: 1, on: [connect_failure, "502", "503", "504"], backoff: 200ms}
negative_cache: {ttl: 0s, statuses: [400, 404, 413, 422], max_entries: 1000}
admission: {max_upstream: 0, max_queue: 1000, max_wait: 30s, scope: process}
max_promotions: 3
redis: null
drain: 30m
log: {level: info}
tracing: null
rollout: 100
shadow: {compare: 0.01, max_bytes: 1MiB}
profiles: []
policies: {}
`;

const everythingChanged = `
listen: [0.0.0.0:1, "[::1]:2", unix:/run/c.sock]
admin: unix:/run/a.sock
probes: 0.0.0.0:3
mode: shadow
egress: https://egress.local:10001
orphan_grace: 0s
tenant: {from: [{sigv4: access_key}, {all: [{header: X-Team}, {query: k}, {attribute: source.uri}]}], anonymous: share}
sampling: seeded
tools: allow
identity: ignore
key: {secret: ${secret}, include: [{header: User-Agent}, {metadata: {namespace: n, path: [a, b]}}], ignore_headers: [X-Noise], ignore_body: [/metadata/trace, /stop/*], normalize: [strip_timestamps, collapse_whitespace, {strip_nonces: ['req-[0-9a-f]{8}']}]}
limits: {max_waiters: 1000, max_waiters_total: 1001, max_generations: 1, max_flights: 7, max_request_bytes: 65537, max_request_bytes_total: 1GiB, max_replay_bytes: 64KiB, max_replay_bytes_total: 65536, max_loop_delay: 1500ms, ticket_ttl: 1m, release_rate: 1}
late_join: {max_events: 0, max_bytes: 0, max_age: 2h}
deadlines: {first_byte: 3599s, idle: 1s, total: 24h, wait: 59m, keep_alive: 15s}
retry: {max_attempts: 10, on: [503, "429"], backoff: 1s}
negative_cache: {ttl: 2s, statuses: ["400", 410], max_entries: 0}
admission: {max_upstream: 2, max_queue: 0, max_wait: 1s, scope: fleet}
redis: {url: 'rediss://localhost:7000/3', prefix: 'a:', lease: 2s, budget: 20ms, encrypt: false}
max_promotions: 0
drain: 0s
log: {level: silent}
tracing: {endpoint: "https://collector.local/v1/traces", service_name: edge, sample: 0.25, max_queue: 10, timeout: 1s}
rollout: 12.5
shadow: {compare: 0.5, max_bytes: 64KiB}
profiles:
- {name: gateway, path: "**/llm/{model}/talk", like: openai-chat, model: path, stream: {body: sse, when_absent: true}}
- {name: always, path: /always, like: anthropic-messages, stream: true, model: {body: name}}
policies:
  careful: {match: {path_prefix: /v1/, authority: LLM.example, route: r}, mode: enforce, key: {normalize: []}, limits: {max_waiters: 3}}
  loose: {sampling: any, tenant: {anonymous: bypass}}
  plain:
`;

describe('a configuration', () => {
  it('that says nothing is the documented one', () => {
    expect(read('')).toEqual(defaultConfig());
    expect(read(documentedDefaults)).toEqual(defaultConfig());
    expect(read('# only a comment\n')).toEqual(defaultConfig());
  });

  it('takes the collector’s header fields from a file, and shows none of them', () => {
    const text = 'tracing: {endpoint: "http://h/v1/traces", headers_file: /h}';
    const file =
      (content: string): ReadFile =>
      (path) =>
        path === '/h' ? content : noFile(path);
    const config = read(text, file('Authorization: Bearer confidential\r\n\nx-team:  a:b \n'));
    expect(config.tracing?.headers).toEqual([
      ['authorization', 'Bearer confidential'],
      ['x-team', 'a:b'],
    ]);
    expect(renderEffective(config)).toContain('headers_file: /h');
    expect(renderEffective(config)).not.toContain('confidential');
    for (const wrong of ['confidential', 'a b: confidential', ': confidential', 'x: confidential\u0000']) {
      expect(mistakes(text, file(`x: y\n${wrong}`))).toEqual([
        'c.yaml:1: tracing.headers_file: line 2 of the file is no header, expected lines such as authorization: Bearer …',
      ]);
    }
  });

  it('never repeats the credentials in the URL of a collector', () => {
    const found = mistakes('tracing: {endpoint: "http://me:confidential@h/v1/traces"}');
    expect(found).toHaveLength(1);
    expect(found[0]).toContain('tracing.endpoint: a URL with credentials is not allowed');
    expect(found[0]).not.toContain('confidential');
  });

  it('reaches the program in its own terms', () => {
    const config = read(everythingChanged);
    expect(config).toMatchObject({
      listen: [
        { kind: 'tcp', host: '0.0.0.0', port: 1 },
        { kind: 'tcp', host: '::1', port: 2 },
        { kind: 'unix', path: '/run/c.sock' },
      ],
      admin: { kind: 'unix', path: '/run/a.sock' },
      probes: { kind: 'tcp', host: '0.0.0.0', port: 3 },
      egress: 'https://egress.local:10001',
      orphanGraceMs: 0,
      limits: { maxWaitersTotal: 1001, maxRequestBytes: 65_537, maxRequestBytesTotal: 2 ** 30, maxLoopDelayMs: 1500 },
      admission: { maxUpstream: 2, maxQueue: 0, maxWaitMs: 1000, scope: 'fleet' },
      redis: { prefix: 'a:', leaseMs: 2000, budgetMs: 20, encrypt: false },
      maxPromotions: 0,
      drainMs: 0,
      logLevel: 'silent',
      tracing: {
        ...{ endpoint: 'https://collector.local/v1/traces', serviceName: 'edge', sample: 0.25, headersFile: null },
        ...{ maxQueue: 10, timeoutMs: 1000, headers: [] },
      },
    });
    expect(config.policy).toMatchObject({
      retry: { maxAttempts: 10, on: ['503', '429'], backoffMs: 1000 },
      negativeCache: { ttlMs: 2000, statuses: [400, 410], maxEntries: 0 },
      deadlines: { keepAliveMs: 15_000 },
    });
    expect(config.policy).toMatchObject({
      name: 'default',
      mode: 'shadow',
      tenant: {
        from: [
          { kind: 'sigv4' },
          {
            kind: 'all',
            sources: [
              { kind: 'header', name: 'x-team' },
              { kind: 'query', name: 'k' },
              { kind: 'attribute', name: 'source.uri' },
            ],
          },
        ],
        anonymous: 'share',
      },
      shadow: { compare: 0.5, maxBytes: 65_536 },
      maxWaiters: 1000,
      lateJoin: { maxEvents: 0, maxBytes: 0, maxAgeMs: 7_200_000 },
      deadlines: { firstByteMs: 3_599_000, idleMs: 1000, totalMs: 86_400_000, waitMs: 3_540_000 },
    });
    expect(config.secret?.toString()).toBe(secret);
  });

  it('printed as effective reads back as the same, but for its secret', () => {
    const config = read(everythingChanged);
    const printed = renderEffective(config);
    expect(printed).not.toContain(secret);
    expect(mistakes(printed)).toEqual([
      expect.stringMatching(/^c.yaml:\d+: key.secret: holds 10 bytes, expected at least 32$/),
    ]);
    expect(read(printed.replace('<redacted>', secret))).toEqual(config);
    expect(read(renderEffective(defaultConfig()))).toEqual(defaultConfig());
  });

  it('may be JSON, and may use anchors', () => {
    expect(read('{"admission": {"max_upstream": 2}}').admission.maxUpstream).toBe(2);
    const anchored = read('deadlines: {first_byte: &long 20m, wait: *long}');
    expect(anchored.policy.deadlines).toMatchObject({ firstByteMs: 1_200_000, waitMs: 1_200_000 });
  });

  it('takes a single address as a list of one', () => {
    expect(read('listen: unix:/run/c.sock').listen).toEqual([{ kind: 'unix', path: '/run/c.sock' }]);
  });

  it('takes its secret from a file, without the line end that an editor adds', () => {
    const files = new Map([['/s', `${secret}\n`]]);
    const config = read('key: {secret_file: /s}', (path) => files.get(path) ?? noFile(path));
    expect(config.secret?.toString()).toBe(secret);
    const bytes = Buffer.alloc(32, 0xff);
    expect(read('key: {secret_file: /s}', () => bytes).secret).toEqual(bytes);
  });
});

describe('the epoch of the default policy', () => {
  const epoch = (text: string): string => read(text).policy.epoch;

  it('changes with what decides about sharing', () => {
    const epochs = [
      '',
      'sampling: any',
      'tools: allow',
      'identity: ignore',
      'tenant: {anonymous: share}',
      'tenant: {from: []}',
      'mode: shadow',
      'limits: {max_waiters: 33}',
      'late_join: {max_age: 61s}',
      'deadlines: {idle: 1m}',
      'tenant: {from: [{attribute: a}]}',
      'key: {include: [{header: user-agent}]}',
      'key: {ignore_headers: [x-noise]}',
      'key: {ignore_body: [/metadata]}',
      'key: {normalize: [collapse_whitespace]}',
      'key: {normalize: [strip_timestamps]}',
      "key: {normalize: [{strip_nonces: ['req-[0-9]{4}']}]}",
    ].map(epoch);
    expect(new Set(epochs).size).toBe(epochs.length);
    expect(epochs.every((one) => /^[0-9a-f]{16}$/.test(one))).toBe(true);
  });

  it('stays the same whatever else changes', () => {
    const other = `listen: 127.0.0.1:1\nadmin: 127.0.0.1:2\negress: http://127.0.0.1:3\nkey: {secret: ${secret}}\nlog: {level: debug}\ndrain: 1s\nrollout: 5\npolicies: {a: {mode: off}}`;
    expect(epoch(other)).toBe(defaultConfig().policy.epoch);
  });
});

describe('a mistaken configuration', () => {
  it('is told every mistake at once, each with its line and what is allowed', () => {
    const found = mistakes(
      [
        'lissten: a',
        'mode: on',
        'limits:',
        '  max_waiter: 3',
        '  max_request_bytes: 1GiB',
        '  max_replay_bytes: 300MiB',
        'key: {secret: short}',
        'deadlines:',
        '  wait: 1h',
        'tenant:',
        '  from:',
        '  - header: "a b"',
        '  - {header: x, query: y}',
        'admission:',
      ].join('\n'),
    );
    expect(found).toEqual([
      'c.yaml:1: lissten: unknown key, the nearest known key is listen',
      'c.yaml:2: mode: "on" is not allowed, expected one of off, shadow, enforce',
      'c.yaml:4: limits.max_waiter: unknown key, the nearest known key is limits.max_waiters',
      'c.yaml:5: limits.max_request_bytes: "1GiB" is not allowed, expected a size such as 65536, 64KiB or 8MiB, from 1 to 31MiB',
      'c.yaml:6: limits.max_replay_bytes: 300MiB is over limits.max_replay_bytes_total, expected at most 256MiB',
      'c.yaml:7: key.secret: holds 5 bytes, expected at least 32',
      'c.yaml:9: deadlines.wait: "1h" is not allowed, expected a duration such as 500ms, 2s, 10m or 1h, from 1ms to 3599s',
      'c.yaml:12: tenant.from[0].header: "a b" is not allowed, expected a header\'s name',
      'c.yaml:13: tenant.from[1]: expected exactly one of header, query, metadata, attribute, sigv4, all',
      'c.yaml:14: admission: null is not a mapping of keys',
    ]);
  });

  it.each([
    ['redis: {prefix: a}', 'redis.url'],
    ['tracing: {sample: 0.5}', 'tracing.endpoint'],
    ['tls: {cert: /a.pem}', 'tls.key'],
    ['prices: {m: {prompt: 1}}', 'prices.m.completion'],
    ['profiles: [{name: a}]', 'profiles[0].path'],
  ])('%s lacks a key, and hides no other mistake', (text, lacking) => {
    const found = mistakes(`${text}\nlimits: {max_replay_bytes: 300MiB}\nadmission: {scope: fleet}`);
    const places = found.map((mistake) => mistake.split(': ').slice(0, 2).join(': '));
    expect(places).toContain(`c.yaml:1: ${lacking}`);
    expect(places).toContain('c.yaml:2: limits.max_replay_bytes');
    // Without a redis that can be read nothing is known of it.
    expect(places.includes('c.yaml:3: admission.scope')).toBe(!text.startsWith('redis'));
  });

  it.each([
    ['max_waiters: 3', 'max_waiters: unknown key, the nearest known key is limits.max_waiters'],
    ['limits: {maxWaiters: 3}', 'limits.maxWaiters: unknown key, the nearest known key is limits.max_waiters'],
    [
      'tenant: {from: [{headers: a}]}',
      'tenant.from[0].headers: unknown key, the nearest known key is tenant.from.header',
    ],
    ['__proto__: {mode: off}', '__proto__: unknown key, the nearest known key is probes'],
    ['1: 2', '1: unknown key, the nearest known key is key'],
  ])('%s names the nearest known key', (text, expected) => {
    expect(mistakes(text)).toEqual([`c.yaml:1: ${expected}`]);
  });

  it.each([
    ['orphan_grace: 5', '5 is not allowed'],
    ['orphan_grace: 1.5s', '"1.5s" is not allowed'],
    ['orphan_grace: 1d', '"1d" is not allowed'],
    ['orphan_grace: -1s', '"-1s" is not allowed'],
    ['orphan_grace: 999999999h', 'is not allowed'],
    ['limits: {max_request_bytes: 0}', '0 is not allowed'],
    ['limits: {max_request_bytes: 1MB}', '"1MB" is not allowed'],
    ['limits: {max_waiters: 1.5}', '1.5 is not allowed'],
    ['limits: {max_waiters: "32"}', '"32" is not allowed'],
    ['limits: {max_waiters: 0}', '0 is not allowed'],
    ['limits: {max_waiters: 20000}', '20000 is over limits.max_waiters_total, expected at most 10000'],
    ['deadlines: {first_byte: 1h}', 'from 1ms to 3599s'],
    ['retry: {max_attempts: 0}', 'retry.max_attempts: 0 is not allowed, expected a whole number from 1 to 10'],
    ['retry: {max_attempts: 11}', '11 is not allowed'],
    ['retry: {on: [timeout]}', 'retry.on[0]: "timeout" is not allowed, expected connect_failure or a status'],
    ['retry: {on: [200]}', '200 is not allowed'],
    ['retry: {on: ["5xx"]}', '"5xx" is not allowed'],
    ['retry: {backoff: 61s}', 'from 0s to 1m'],
    ['negative_cache: {ttl: 61s}', 'from 0s to 1m'],
    ...[200, 302, 401, 403, 408, 409, 429, 500, 502, 503, 504].map((status) => [
      `negative_cache: {statuses: [400, ${status}]}`,
      `negative_cache.statuses[1]: ${status} is not allowed, expected a status from 400 to 499`,
    ]),
    ['tracing: 5', 'tracing: 5 is not a mapping of keys'],
    ['tracing: {}', 'tracing.endpoint: missing, expected an http or https URL with its path'],
    ['tracing: {endpoint: "127.0.0.1:4318"}', 'tracing.endpoint: "127.0.0.1:4318" is not allowed'],
    [
      'tracing: {endpoint: "http://127.0.0.1:4318"}',
      'with its path and no credentials, such as http://127.0.0.1:4318/v1',
    ],
    ['tracing: {endpoint: "grpc://h/v1/traces"}', 'is not allowed'],
    ['tracing: {endpoint: "http://h/v1", samples: 1}', 'unknown key, the nearest known key is tracing.sample'],
    [
      'tracing: {endpoint: "http://h/v1", sample: 2}',
      'tracing.sample: 2 is not allowed, expected a number from 0 to 1',
    ],
    ['tracing: {endpoint: "http://h/v1", max_queue: 0}', 'tracing.max_queue: 0 is not allowed'],
    ['tracing: {endpoint: "http://h/v1", timeout: 2m}', 'from 100ms to 1m'],
    ['tracing: {endpoint: "http://h/v1", headers_file: /none}', 'tracing.headers_file: cannot be read: ENOENT: /none'],
    ['policies: {a: {tracing: null}}', 'belongs at the top of the file, not in a policy'],
    ['listen: []', 'too few entries, expected at least 1'],
    ['listen: 5', '5 is not a list'],
    ['listen: localhost', 'listen: "localhost" is not allowed, expected an address'],
    ['listen: 127.0.0.1:65536', 'is not allowed'],
    ['listen: unix:relative', 'is not allowed'],
    [`listen: unix:/${'x'.repeat(107)}`, 'is not allowed'],
    ['listen: 127.0.0.1:9003', 'admin: 127.0.0.1:9003 is taken by listen, expected another'],
    ['egress: 127.0.0.1:1', 'expected an http or https URL'],
    ['egress: http://h/path', 'expected an http or https URL'],
    ['egress: http://user:password@h/', 'expected an http or https URL'],
    ['egress: ftp://h', 'expected an http or https URL'],
    ['egress: http://127.0.0.1:9002', "is this process's own listen"],
    ['log: {level: loud}', 'expected one of silent, fatal, error, warn, info, debug, trace'],
    ['key: {secret: 12345}', 'key.secret: not a text'],
    ['key: {secret_file: /none}', 'key.secret_file: cannot be read: ENOENT: /none'],
    [`key: {secret: ${secret}, secret_file: /s}`, 'key.secret_file: given beside key.secret'],
    ['- a', '(document): a list is not a mapping of keys'],
    ['just words', '(document): "just words" is not a mapping of keys'],
    ['a: [1', '(document): not valid YAML'],
    ['mode: off\nmode: shadow', 'c.yaml:2: mode: given twice, expected once'],
    ['log: {level: info, level: warn}', 'log.level: given twice, expected once'],
    ['mode: off\n---\nmode: off', '(document): not valid YAML'],
    ['mode: *nowhere', '(document): an alias is unknown'],
  ])('%s is refused', (text, expected) => {
    const found = mistakes(text);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(expected);
  });

  it('never has its secret repeated', () => {
    const short = 'hunter2hunter2';
    for (const value of [
      short,
      `*${short}`,
      `!${short} x`,
      `[${short}]`,
      `{${short}: 1}`,
      `"${short}`,
      `&${short} 5`,
    ]) {
      const found = mistakes(`key:\n  secret: ${value}\nmode: of`);
      expect(found.length).toBeGreaterThan(0);
      expect(found.join('\n')).not.toContain(short);
    }
  });

  it('of aliases that multiply ends in a mistake', () => {
    const lines = ['a: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i += 1)
      lines.push(
        `b${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(mistakes(lines.join('\n'))).toHaveLength(1);
  });
});
