/** Where the repository is, from the sources (under vitest) and from the compiled harness alike. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The absolute path of the folder that holds package.json. */
export const repositoryRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('package.json is in none of the folders above the harness');
  return findRoot(parent);
}
