/**
 * What deploy/ ships, read for tests: YAML documents, kustomize's output, and Envoy configurations put beside the shipped
 * ones that they were made from.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { findEnvoy } from '../../harness/envoy-binary.ts';
import { repositoryRoot } from '../../harness/root.ts';
import type { EnvoyConfig } from '../../harness/stack.ts';

const execute = promisify(execFile);

/** A Kubernetes object, of which only the head is known. */
export type KubernetesObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [member: string]: unknown;
};

/** The text of a file of the repository. */
export function readShipped(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

/** A YAML file of the repository, as what the caller knows it to be. */
export function parseShipped(path: string): unknown {
  return parse(readShipped(path), { merge: true }) as unknown;
}

/** Every document of a YAML text. */
export function objectsOf(text: string): KubernetesObject[] {
  return parseAllDocuments(text).map((document) => {
    const [mistake] = document.errors;
    if (mistake !== undefined) throw mistake;
    return document.toJS() as KubernetesObject;
  });
}

/** What `kubectl apply --kustomize` would send for an overlay of deploy/kubernetes. */
export function renderOverlay(name: string): KubernetesObject[] {
  const folder = join(repositoryRoot, 'deploy', 'kubernetes', 'overlays', name);
  const [command, ...args] = kustomize();
  return objectsOf(execFileSync(command, [...args, folder], { encoding: 'utf8' }));
}

/** The command that renders a folder, as the words before it. Throws where there is none. */
export function kustomize(): readonly [command: string, ...args: string[]] {
  const onPath = (program: string): boolean =>
    (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
  if (onPath('kustomize')) return ['kustomize', 'build'];
  if (onPath('kubectl')) return ['kubectl', 'kustomize'];
  // Built from source once, and taken from Go's cache from then on.
  if (onPath('go')) return ['go', 'run', 'sigs.k8s.io/kustomize/kustomize/v5@v5.7.1', 'build'];
  throw new Error('kustomize is missing: put `kustomize`, a `kubectl` of 1.26 or newer, or `go` on the PATH.');
}

/** What Envoy says of a configuration; rejects where it refuses it. */
export async function validateEnvoy(config: unknown): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'envoy-coalescer-deployed-'));
  try {
    const path = join(work, 'envoy.yaml');
    await writeFile(path, typeof config === 'string' ? config : stringify(config));
    const args = ['--mode', 'validate', '--disable-hot-restart', '--log-level', 'error', '--config-path', path];
    const { stdout, stderr } = await execute(await findEnvoy(), args);
    return stdout + stderr;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * An Envoy configuration without what a deployment changes in the shipped one: addresses, how clusters find and trust theirs,
 * and the pages for probes.
 */
export function withoutPlaces(config: EnvoyConfig): unknown {
  const { listeners, clusters } = config.static_resources;
  const { node: _node, ...rest } = config;
  return {
    ...rest,
    admin: {},
    static_resources: {
      listeners: listeners.filter(({ name }) => name !== 'probes').map((listener) => ({ ...listener, address: {} })),
      clusters: clusters
        .filter(({ name }) => name !== 'admin')
        .map(({ type: _type, dns_lookup_family: _family, transport_socket: _tls, ...cluster }) => {
          return { ...cluster, load_assignment: {} };
        }),
    },
  };
}
