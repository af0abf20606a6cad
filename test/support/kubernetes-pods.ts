/** The pods of a rendered overlay, as far as tests look at them, and the configurations that are mounted into them. */
import type { Config } from '../../src/config/definition.ts';
import { readConfigFile } from '../../src/config/read.ts';
import type { KubernetesObject } from './deployed.ts';

type Probe = { httpGet: { path: string; port: string } };
type Amounts = { cpu?: string; memory?: string };

export type Container = {
  name: string;
  image: string;
  args: string[];
  ports?: Array<{ name: string; containerPort: number }>;
  resources: { requests: Amounts; limits: Amounts };
  securityContext: Record<string, unknown>;
  volumeMounts: Array<{ name: string; mountPath: string; readOnly?: boolean }>;
  restartPolicy?: string;
  lifecycle?: { preStop: { exec: { command: string[] } } };
  [probe: `${string}Probe`]: Probe | undefined;
};

export type Pod = {
  /** The Deployment's name, and how many it wants. */
  deployment: string;
  replicas: number;
  metadata: { labels: Record<string, string> };
  spec: {
    automountServiceAccountToken: boolean;
    terminationGracePeriodSeconds: number;
    securityContext: Record<string, unknown>;
    initContainers?: Container[];
    containers: Container[];
    volumes: Array<{ name: string; configMap?: { name: string }; emptyDir?: object; secret?: { secretName: string } }>;
  };
};

/** One for each Deployment. */
export function podsOf(objects: readonly KubernetesObject[]): Pod[] {
  return objects
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata, spec }) => {
      const { template, replicas } = spec as { template: Pod; replicas: number };
      return { ...template, deployment: metadata.name, replicas };
    });
}

export function containersOf(spec: Pod['spec']): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/** A file of the ConfigMap whose name begins so; kustomize adds a digest. */
export function configFile(objects: readonly KubernetesObject[], name: string, file: string): string {
  const pattern = new RegExp(`^${name}-[a-z0-9]{10}$`);
  const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && pattern.test(metadata.name));
  return (map?.['data'] as Record<string, string> | undefined)?.[file] ?? '';
}

/** The processor's configuration, with its defaults. `mounted`: what lies at a path that is no file of the ConfigMap. */
export function processorConfig(
  objects: readonly KubernetesObject[],
  mounted: Readonly<Record<string, Buffer>>,
): Config {
  const read = readConfigFile(
    'coalescer.yaml',
    (path) => mounted[path] ?? Buffer.from(configFile(objects, 'coalescer', path)),
  );
  if (read.kind === 'mistakes') throw new Error(JSON.stringify(read.mistakes));
  return read.config;
}
