/**
 * Kubernetes objects against the schemas of their kinds: values by the models' validators, and names of fields by the types,
 * since an API server drops a field that it does not know.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { repositoryRoot } from '../../harness/root.ts';
import type { KubernetesObject } from './deployed.ts';

type Model = new (data: unknown) => { validate(): void };

const require = createRequire(import.meta.url);

/** What is wrong with the values of an object; '' where nothing is. */
export function valueMistake(object: KubernetesObject): string {
  const models = require(modelsOf(object)) as Record<string, Model | undefined>;
  const SomeModel = models[object.kind];
  if (SomeModel === undefined) return `there is no ${object.kind} in ${object.apiVersion}`;
  try {
    new SomeModel(object).validate();
    return '';
  } catch (error) {
    return String(error);
  }
}

/** What the compiler says of the objects, as literals of their types; '' where it has nothing to say. */
export function fieldMistakes(objects: readonly KubernetesObject[]): string {
  // Inside the repository, so that the packages are found.
  const folder = mkdtempSync(join(repositoryRoot, 'node_modules', '.kubernetes-'));
  try {
    const lines = objects.flatMap((object, index) => [
      `import type { I${object.kind} as T${index} } from '${modelsOf(object)}';`,
      `export const object${index}: T${index} = ${JSON.stringify(object)};`,
    ]);
    const file = join(folder, 'objects.ts');
    writeFileSync(file, lines.join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', 'node'];
    const tsc = join(repositoryRoot, 'node_modules', 'typescript', 'bin', 'tsc');
    execFileSync(process.execPath, [tsc, ...options, '--ignoreConfig', file], { encoding: 'utf8', stdio: 'pipe' });
    return '';
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function modelsOf({ apiVersion }: KubernetesObject): string {
  const group = apiVersion.split('/')[0] ?? '';
  if (group === 'monitoring.coreos.com') return `@kubernetes-models/prometheus-operator/${apiVersion}`;
  if (group === 'networking.istio.io') return `@kubernetes-models/istio/${apiVersion}`;
  return `kubernetes-models/${apiVersion}`;
}
