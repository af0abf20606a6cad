import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';

import { repositoryRoot } from '../../harness/root.ts';
import type { Config } from '../../src/config/definition.ts';
import { readConfig } from '../../src/config/read.ts';
import { readDeployment } from '../../src/doctor/deployment.ts';
import { diagnose } from '../../src/doctor/diagnose.ts';
import { catalogue, findingIds } from '../../src/doctor/catalogue.ts';
import { printEnvoyPath, type EnvoyPath } from '../../src/doctor/node.ts';
import { decide, deliver, doctorCases, httpFilter, ingress, route, type Editable } from '../support/doctor-cases.ts';

/** The files' content is no concern of doctor's. */
const someTls: Config['tls'] = {
  files: { cert: 'c', key: 'k', clientCa: 'a' },
  certificate: Buffer.alloc(0),
  key: Buffer.alloc(0),
  clientCa: Buffer.alloc(0),
};

type Place = Record<string | number, unknown>;

function shipped(file: string): string {
  return readFileSync(join(repositoryRoot, 'envoy', file), 'utf8');
}

function processor(text: string): Config {
  const read = readConfig(text, { file: 'coalescer.yaml', readFile: readFileSync });
  if (read.kind !== 'config') throw new Error(read.mistakes.map(({ message }) => message).join());
  return read.config;
}

/** Where what is found, as text: `id path`. */
function found(data: unknown, options: { config?: Config; serverInfo?: unknown } = {}): string[] {
  const deployment = readDeployment(data);
  if (deployment === null) throw new Error('no Envoy configuration');
  const { config = processor(shipped('coalescer.yaml')), serverInfo = null } = options;
  return diagnose({ config, deployment, serverInfo }).map(({ id, path }) => `${id} ${printEnvoyPath(path)}`);
}

function editable(data: unknown): Editable {
  const parentOf = (path: EnvoyPath): Place => {
    return path.slice(0, -1).reduce<Place>((place, step) => (place[step] ??= {}) as Place, data as Place);
  };
  const last = (path: EnvoyPath): string | number => path.at(-1) ?? '';
  const listAt = (path: EnvoyPath): unknown[] => parentOf(path)[last(path)] as unknown[];
  return {
    set: (path, value) => void (parentOf(path)[last(path)] = value),
    remove: (path) => {
      const parent = parentOf(path);
      if (Array.isArray(parent)) parent.splice(Number(last(path)), 1);
      else delete parent[last(path)];
    },
    insert: (path, index, value) => void listAt(path).splice(index, 0, value),
  };
}

function changed(change: (config: Editable) => void, file = 'envoy.yaml'): unknown {
  const data: unknown = parse(shipped(file));
  change(editable(data));
  return data;
}

describe('doctor finds', () => {
  it.each(['envoy.yaml', 'envoy.attached.yaml', 'http-filters.yaml'])('nothing in the shipped %s', (file) => {
    for (const own of ['coalescer.yaml', 'coalescer.attached.yaml']) {
      expect(found(parse(shipped(file)), { config: processor(shipped(own)) })).toEqual([]);
    }
  });

  it.each(['compose', 'kubernetes/overlays/sidecar', 'kubernetes/overlays/shared'])(
    'nothing in deploy/%s',
    (folder) => {
      expect(found(parse(readFileSync(join(repositoryRoot, 'deploy', folder, 'envoy.yaml'), 'utf8')))).toEqual([]);
    },
  );

  it('processor_tls where the processor has tls and Envoy calls it in plain text, but for a Unix socket', () => {
    const config: Config = { ...processor(shipped('coalescer.yaml')), tls: someTls };
    const cluster = ['static_resources', 'clusters', 0];
    expect(found(parse(shipped('envoy.yaml')), { config })).toEqual([
      `processor_tls ${printEnvoyPath([...cluster, 'transport_socket'])}`,
    ]);
    const secured = changed((data) => data.set([...cluster, 'transport_socket'], { name: 'tls' }));
    expect(found(secured, { config })).toEqual([]);
    const address = [...cluster, 'load_assignment', 'endpoints', 0, 'lb_endpoints', 0, 'endpoint', 'address'];
    const bySocket = changed((data) => data.set(address, { pipe: { path: '/run/c.sock' } }));
    expect(found(bySocket, { config })).toEqual([]);
  });

  it('nothing about who may call in a processor that only its own machine reaches', () => {
    for (const listen of ['127.0.0.2:9002', '[::1]:9002', 'localhost:9002', 'unix:/run/c.sock']) {
      const config = processor(`listen: "${listen}"\negress: http://127.0.0.1:10001\n`);
      expect(found(parse(shipped('envoy.yaml')), { config })).toEqual([]);
    }
  });

  it('nothing in a configuration that has the fragment pasted in', () => {
    const fragment = parse(shipped('http-filters.yaml')) as { http_filters: unknown[]; clusters: unknown[] };
    const data = changed((config) => {
      const router = httpFilter('router');
      config.set(
        [...ingress, 'http_filters'],
        [httpFilter('jwt_authn'), ...fragment.http_filters, httpFilter('ratelimit'), router],
      );
      config.set(['static_resources', 'clusters', 0], fragment.clusters[0]);
    }, 'envoy.attached.yaml');
    expect(found(data)).toEqual([]);
  });

  it.each(doctorCases.map((one) => ({ ...one, place: printEnvoyPath(one.path) })))(
    '$id where $what, at $place',
    ({ id, change, place, processor: own }) => {
      const options = own === undefined ? {} : { config: processor(own) };
      expect(found(changed(change), options)).toEqual([`${id} ${place}`]);
    },
  );

  it('each thing on its list in a case of its own', () => {
    const live = ['drain_time', 'envoy_too_old', 'envoy_vulnerable'];
    expect(new Set([...doctorCases.map(({ id }) => id), ...live, 'processor_tls'])).toEqual(new Set(findingIds));
  });

  it('errors before warnings, and all at once', () => {
    const data = changed((config) => {
      config.remove([...ingress, 'delayed_close_timeout']);
      config.remove([...decide, 'failure_mode_allow']);
      config.remove([...deliver, 'failure_mode_allow']);
    });
    expect(found(data).map((line) => line.split(' ')[0])).toEqual([
      'failing_closed',
      'failing_closed',
      'delayed_close',
    ]);
  });
});

test('docs/doctor.md has the list', () => {
  const text = readFileSync(join(repositoryRoot, 'docs', 'doctor.md'), 'utf8');
  const rows = text
    .split('\n')
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$|`/g, '').trim()));
  const listed = rows.filter(([, severity]) => severity === 'error' || severity === 'warning');
  expect(listed).toEqual(findingIds.map((id) => [id, ...Object.values(catalogue[id])]));
});

describe('a tenant that comes as metadata', () => {
  const byClaim = 'tenant: {from: [{metadata: {namespace: envoy.filters.http.jwt_authn, path: [payload, sub]}}]}';
  const withJwt = (provider: object) => (config: Editable) => {
    config.insert([...ingress, 'http_filters'], 0, httpFilter('jwt_authn', { providers: { one: provider } }));
  };

  it('arrives where jwt_authn writes its claims under that name', () => {
    const data = changed(withJwt({ payload_in_metadata: 'payload' }));
    expect(found(data, { config: processor(byClaim) })).toEqual([]);
  });

  it.each([{}, { payload_in_metadata: 'claims' }])('does not arrive from a provider %j', (provider) => {
    const [finding = ''] = found(changed(withJwt(provider)), { config: processor(byClaim) });
    expect(finding).toContain('tenants_unreachable');
  });

  it('is not asked for where anybody may share, or the mode is off', () => {
    for (const more of ['mode: off', '']) {
      const anonymous = more === '' ? byClaim.replace(']}}]', ']}}], anonymous: share') : `${byClaim}\n${more}`;
      expect(found(parse(shipped('envoy.yaml')), { config: processor(anonymous) })).toEqual([]);
    }
  });
});

describe('what is right has nothing found:', () => {
  const rights: Readonly<Record<string, (config: Editable) => void>> = {
    'judges in front of decide': (config) => {
      for (const kind of ['rbac', 'ext_authz', 'wasm', 'compressor']) {
        config.insert([...ingress, 'http_filters'], 0, httpFilter(kind));
      }
    },
    'a limit on the upstream behind deliver': (config) => {
      config.insert([...ingress, 'http_filters'], 2, httpFilter('ratelimit'));
      const upstream = { generic_key: { descriptor_value: 'llm' } };
      config.set(
        [...route, 'route', 'rate_limits'],
        [{ actions: [upstream, { request_headers: { header_name: 'x-model' } }] }],
      );
    },
    'limits on users in front and on the upstream behind, by stages': (config) => {
      config.insert([...ingress, 'http_filters'], 2, httpFilter('ratelimit', { stage: 1 }));
      config.insert([...ingress, 'http_filters'], 0, httpFilter('ratelimit'));
      const upstream = { stage: 1, actions: [{ generic_key: { descriptor_value: 'llm' } }] };
      config.set([...route, 'route', 'rate_limits'], [{ actions: [{ remote_address: {} }] }, upstream]);
    },
    'providers whose claims or tokens arrive, or that take no header': (config) => {
      const providers = {
        claims: { payload_in_metadata: 'payload' },
        forwarded: { forward: true },
        elsewhere: { from_headers: [{ name: 'x-jwt' }] },
        cookie: { from_cookies: ['session'] },
      };
      config.insert([...ingress, 'http_filters'], 0, httpFilter('jwt_authn', { providers }));
    },
    'one neighbour in FULL_DUPLEX_STREAMED': (config) => {
      const mode = { processing_mode: { request_body_mode: 'FULL_DUPLEX_STREAMED' } };
      config.insert([...ingress, 'http_filters'], 0, httpFilter('ext_proc', mode));
    },
    'a route with a timeout that leads to no model, or is disabled': (config) => {
      const off = { 'coalesce.decide': { disabled: true }, 'coalesce.deliver': { disabled: true } };
      const routes = [
        { match: { path: '/healthz' }, route: { cluster: 'llm' } },
        {
          match: { prefix: '/', headers: [{ name: ':method', string_match: { exact: 'GET' } }] },
          route: { cluster: 'llm' },
        },
        { match: { prefix: '/v1/files' }, route: { cluster: 'llm' }, typed_per_filter_config: off },
        { match: { prefix: '/old' }, redirect: { path_redirect: '/' } },
      ];
      for (const one of routes) config.insert(route.slice(0, -1), 0, one);
    },
    'filters that are off until a route turns both on': (config) => {
      for (const index of [0, 1]) config.set([...ingress, 'http_filters', index, 'disabled'], true);
      const on = { overrides: {} };
      config.insert(route.slice(0, -1), 0, { match: { prefix: '/v1/other' }, route: { cluster: 'llm' } });
      config.set([...route.slice(0, -1), 1, 'typed_per_filter_config'], {
        'coalesce.decide': on,
        'coalesce.deliver': on,
      });
    },
    'idle timeouts that are off': (config) => {
      config.set([...ingress, 'stream_idle_timeout'], '0s');
      config.set([...route, 'route', 'idle_timeout'], '0s');
    },
  };

  it.each(Object.entries(rights))('%s', (_, change) => expect(found(changed(change))).toEqual([]));

  it('deliver without its matcher, and decide within one', () => {
    const data = changed((config) => {
      config.set([...ingress, 'http_filters', 1], {
        name: 'coalesce.deliver',
        typed_config: at(parse(shipped('envoy.yaml')), deliver),
      });
      const matcher = { '@type': 'type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher' };
      config.set(decide, {
        ...matcher,
        extension_config: { name: 'd', typed_config: at(parse(shipped('envoy.yaml')), decide) },
      });
    });
    expect(found(data)).toEqual([]);
    const inner = [...decide, 'extension_config', 'typed_config', 'failure_mode_allow'];
    editable(data).remove(inner);
    editable(data).set([...ingress, 'http_filters', 1, 'typed_config', 'failure_mode_allow'], false);
    expect(found(data)).toEqual([
      `failing_closed ${printEnvoyPath(inner)}`,
      `failing_closed ${printEnvoyPath([...ingress, 'http_filters', 1, 'typed_config', 'failure_mode_allow'])}`,
    ]);
  });

  it('fields in camelCase', () => {
    const camel = (text: string): string => text.replaceAll(/(?<=[\s{,])([a-z]+(?:_[a-z0-9]+)+)(?=:)/g, toCamel);
    expect(found(parse(camel(shipped('envoy.yaml'))))).toEqual([]);
  });
});

function toCamel(name: string): string {
  return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

function at(data: unknown, path: EnvoyPath): unknown {
  return path.reduce<unknown>((place, step) => (place as Place)[step], data);
}

describe('a configuration dump', () => {
  /** As `/config_dump` has it where everything comes from a control plane. */
  function dump(change: (config: Editable) => void): unknown {
    const data = changed((config) => {
      change(config);
      config.set([...ingress, 'rds'], { route_config_name: 'ingress' });
    });
    const routeConfig = at(data, [...ingress, 'route_config']);
    editable(data).remove([...ingress, 'route_config']);
    const { listeners, clusters } = at(data, ['static_resources']) as { listeners: unknown[]; clusters: unknown[] };
    const section = (kind: string, more: object): object => ({
      '@type': `type.googleapis.com/envoy.admin.v3.${kind}`,
      ...more,
    });
    return {
      configs: [
        section('BootstrapConfigDump', { bootstrap: {} }),
        section('ClustersConfigDump', { dynamic_active_clusters: clusters.map((cluster) => ({ cluster })) }),
        section('ListenersConfigDump', {
          dynamic_listeners: listeners.map((listener) => ({ active_state: { listener } })),
        }),
        section('RoutesConfigDump', { dynamic_route_configs: [{ route_config: routeConfig }] }),
      ],
    };
  }
  const manager = 'configs[2].dynamic_listeners[0].active_state.listener.filter_chains[0].filters[0].typed_config';

  it('with everything right has nothing found', () => expect(found(dump(() => undefined))).toEqual([]));

  it('is looked through: listeners, routes and clusters of a control plane', () => {
    const broken = dump((config) => {
      config.remove([...decide, 'failure_mode_allow']);
      config.remove([...route, 'route', 'timeout']);
      config.remove(['static_resources', 'clusters', 0, 'circuit_breakers']);
    });
    expect(found(broken)).toEqual([
      `failing_closed ${manager}.http_filters[0].typed_config.failure_mode_allow`,
      'route_timeout configs[3].dynamic_route_configs[0].route_config.virtual_hosts[0].routes[0].route.timeout',
      'processor_circuit_breaker configs[1].dynamic_active_clusters[0].cluster.circuit_breakers.thresholds[0].max_requests',
      'processor_pending_limit configs[1].dynamic_active_clusters[0].cluster.circuit_breakers.thresholds[0].max_pending_requests',
    ]);
  });
});

describe('a running Envoy', () => {
  const info = (version: string, drain: string): object => {
    return { version: `hash/${version}/Clean/RELEASE/BoringSSL`, command_line_options: { drain_time: drain } };
  };
  it.each([
    [info('1.37.7', '1800s'), []],
    [info('1.38.5', '1800s'), []],
    [info('1.39.2', '1800s'), []],
    [info('1.40.0', '1800s'), []],
    [info('1.37.0', '1800s'), ['envoy_vulnerable server_info.version']],
    [info('1.38.4', '1800s'), ['envoy_vulnerable server_info.version']],
    [info('1.39.1', '1800s'), ['envoy_vulnerable server_info.version']],
    [info('1.39.1-contrib', '1800s'), ['envoy_vulnerable server_info.version']],
    [info('1.39.1-dev', '1800s'), []],
    [info('1.36.5-dev', '1800s'), ['envoy_too_old server_info.version']],
    [info('2.0.0', '3600s'), []],
    [info('1.36.4', '1800s'), ['envoy_too_old server_info.version']],
    [info('1.40.0', '600s'), ['drain_time server_info.command_line_options.drain_time']],
    [{ version: 'hash/1.39.3/x' }, ['drain_time server_info.command_line_options.drain_time']],
    [{ version: 'unknown', command_line_options: { drain_time: '1800s' } }, []],
  ])('that says %j', (serverInfo, expected) => {
    expect(found(parse(shipped('envoy.yaml')), { serverInfo })).toEqual(expected);
  });
});

describe('the vulnerabilities of a version', () => {
  const fixFor = (version: string): string => {
    const serverInfo = { version: `hash/${version}/Clean`, command_line_options: { drain_time: '1800s' } };
    const deployment = readDeployment(parse(shipped('envoy.yaml')));
    if (deployment === null) throw new Error('no configuration');
    return diagnose({ config: processor(''), deployment, serverInfo })[0]?.fix ?? '';
  };

  it('are named, with the first patch that has none of them', () => {
    expect(fixFor('1.37.0')).toMatch(/^run Envoy 1\.37\.7 or newer \(CVE-2026-26311: .*CVE-2026-35189: /);
    expect(fixFor('1.38.3')).toMatch(/^run Envoy 1\.38\.5 or newer \(CVE-2026-73513: .*CVE-2026-35189: /);
  });

  it('are no longer named once their own patch is in', () => {
    expect(fixFor('1.37.2')).not.toContain('CVE-2026-26311');
    expect(fixFor('1.37.2')).toContain('CVE-2026-47774');
    expect(fixFor('1.37.3')).not.toContain('CVE-2026-47774');
    expect(fixFor('1.38.4')).not.toContain('CVE-2026-73513');
  });
});

describe('what is no Envoy configuration', () => {
  it.each([null, 1, 'text', [], {}, { configs: null }, { listeners: [] }])('%j is none', (data) => {
    expect(readDeployment(data)).toBeNull();
  });

  it('or a mangled one, breaks nothing', () => {
    const mangle = (place: Place): void => {
      for (const [name, inner] of Object.entries(place)) {
        for (const odd of ['x', [null]]) {
          place[name] = odd;
          found(root);
        }
        place[name] = inner;
        if (typeof inner === 'object' && inner !== null) mangle(inner as Place);
      }
    };
    const root = { static_resources: at(parse(shipped('envoy.yaml')), ['static_resources']) };
    expect(() => mangle(root.static_resources as Place)).not.toThrow();
  }, 120_000);
});
