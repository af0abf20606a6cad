/**
 * The rules of deploy/prometheus, checked and unit-tested by promtool, and the scrape configuration of docker-compose.yml.
 * promtool comes from PROMTOOL, the PATH, a cache of ours, or at last Debian's package `prometheus`, of which this file alone
 * is unpacked: nothing is installed and nothing started.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const steps = [
  ['check', 'rules', 'deploy/prometheus/rules.yaml'],
  ['test', 'rules', 'deploy/prometheus/rules.test.yaml'],
  ['check', 'config', '--syntax-only', 'deploy/compose/prometheus.yaml'],
];

/** Runs promtool's steps, each of which counts as one, and prints a line per step. Without promtool all have failed. */
export function checkRules() {
  let promtool;
  try {
    promtool = findPromtool();
  } catch (error) {
    console.error(error.message);
    return counted(steps);
  }
  const failed = steps.filter((args) => {
    const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8' });
    if (status !== 0) console.error(`${stdout}${stderr}`);
    console.log(`${status === 0 ? 'ok    ' : 'FAILED'} promtool ${args.join(' ')}`);
    return status !== 0;
  });
  return counted(failed);
}

function counted(failed) {
  const failures = failed.map((args) => `promtool ${args.join(' ')}`);
  return { passed: steps.length - failed.length, failed: failed.length, failures };
}

function findPromtool() {
  const named = process.env.PROMTOOL;
  if (named) {
    const trouble = run(named, ['--version']);
    if (trouble !== '') throw new Error(`PROMTOOL=${named} does not run: ${trouble}. Correct or unset it.`);
    return named;
  }
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'promtool'));
  const cached = join(cacheFolder(), 'promtool');
  const found = [...onPath, cached].find((path) => existsSync(path));
  if (found !== undefined) return found;
  unpack(cached);
  return cached;
}

function cacheFolder() {
  const { ENVOY_COALESCER_CACHE, XDG_CACHE_HOME } = process.env;
  const base = ENVOY_COALESCER_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'envoy-coalescer');
  return join(base, 'prometheus');
}

/** Downloads the package aside and renames the one file: whoever looks meanwhile sees none or a whole one. */
function unpack(target) {
  mkdirSync(cacheFolder(), { recursive: true });
  const work = mkdtempSync(join(cacheFolder(), '.download-'));
  try {
    // The package lists of a new machine are empty, and only root may renew them.
    if (run('apt-get', ['download', 'prometheus'], work) !== '') {
      run('apt-get', ['update', '-qq'], work);
      const trouble = run('apt-get', ['download', 'prometheus'], work);
      if (trouble !== '') throw new Error(advice(trouble));
    }
    const file = readdirSync(work).find((name) => name.endsWith('.deb')) ?? '';
    const trouble = run('dpkg-deb', ['-x', file, work], work);
    if (trouble !== '') throw new Error(advice(trouble));
    renameSync(join(work, 'usr', 'bin', 'promtool'), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** '' where the command succeeded, else what went wrong. */
function run(command, args, cwd) {
  const { status, error, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  return status === 0 ? '' : (error?.message ?? stderr.trim()) || `${command} ended with ${status}`;
}

function advice(trouble) {
  return [
    'promtool was not found and could not be taken from Debian’s package. Put promtool of Prometheus 2.42 or newer on the',
    `PATH, or name it with PROMTOOL. The attempt ended with: ${trouble}`,
  ].join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { passed, failed } = checkRules();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
