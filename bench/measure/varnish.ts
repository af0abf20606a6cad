/** Varnish before the bench's upstream, where it is installed. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../harness/root.ts';
import { type PlainProcess, startPlainProcess } from '../process/plain.ts';

const execute = promisify(execFile);

/** Enough threads for a caller each in the bursts that it is given; no disk. */
const SETTINGS = ['thread_pool_min=400', 'thread_pool_max=1000', 'workspace_client=64k', 'workspace_backend=64k'];

/** Null where there is no varnishd with its module `bodyaccess`. */
export async function startVarnish(upstreamPort: number): Promise<PlainProcess | null> {
  const command = await varnishCommand();
  if (command === null) return null;
  const folder = await mkdtemp(join(tmpdir(), 'bench-varnish-'));
  // Its compiler runs as a user of its own.
  await chmod(folder, 0o755);
  const vcl = join(folder, 'default.vcl');
  const template = await readFile(join(repositoryRoot, 'bench', 'varnish', 'default.vcl'), 'utf8');
  await writeFile(vcl, template.replace('@UPSTREAM_PORT@', String(upstreamPort)));
  try {
    const running = await startPlainProcess(command, (port) => [
      ...[
        '-F',
        '-n',
        join(folder, 'work'),
        '-f',
        vcl,
        '-a',
        `127.0.0.1:${port},HTTP`,
        '-T',
        'none',
        '-s',
        'default,256m',
      ],
      ...SETTINGS.flatMap((setting) => ['-p', setting]),
    ]);
    return {
      ...running,
      end: async () => {
        await running.end();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch {
    // It is there but does not start with this configuration, for instance without varnish-modules: as if it were absent.
    await rm(folder, { recursive: true, force: true });
    return null;
  }
}

async function varnishCommand(): Promise<string | null> {
  for (const folder of [...(env['PATH'] ?? '').split(':'), '/usr/sbin']) {
    const path = join(folder, 'varnishd');
    if (
      await execute(path, ['-V']).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}
