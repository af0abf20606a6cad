/** The bench's programs in Go, compiled from bench/go where there is a Go toolchain. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../harness/root.ts';

/** Paths of the compiled programs. */
export type GoTools = { readonly loadgen: string; readonly upstream: string; readonly noop: string };

const execute = promisify(execFile);

/** Null where there is no `go` on the PATH; throws where it does not compile them. */
export async function buildGoTools(): Promise<GoTools | null> {
  const hasGo = await execute('go', ['version']).then(
    () => true,
    () => false,
  );
  if (!hasGo) return null;
  const output = join(repositoryRoot, '.build', 'bench-go');
  await mkdir(output, { recursive: true });
  await execute('go', ['build', '-o', `${output}/`, './...'], { cwd: join(repositoryRoot, 'bench', 'go') });
  return { loadgen: join(output, 'loadgen'), upstream: join(output, 'upstream'), noop: join(output, 'noop') };
}
