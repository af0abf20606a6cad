/**
 * Makes the tree ready to run: installs the locked packages where they are missing or out of date, then compiles what is
 * older than its sources. It needs Node and npm alone, because it is what every npm script starts with in a fresh clone.
 * It leaves Envoy itself to harness/envoy-binary.ts.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldestNode = '20.12';

/** Each output folder, the project that fills it and the folders whose change makes it stale. */
const builds = [
  {
    output: '.build',
    project: 'tsconfig.tools.json',
    sources: ['harness', 'demo', 'bench', 'chaos', 'src', 'test/support'],
  },
  { output: 'dist', project: 'tsconfig.build.json', sources: ['src'] },
];

requireNode();
installPackages();
for (const build of builds) compile(build);

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = oldestNode.split('.').map(Number);
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor))
    fail(`Node ${process.versions.node} is too old: install Node ${oldestNode} or newer.`);
}

function installPackages() {
  const wanted = modifiedAt('package-lock.json');
  if (modifiedAt('node_modules/.package-lock.json') >= wanted) return;
  console.error('Installing packages (npm ci) …');
  // NODE_ENV=production would leave the compiler out.
  const result = run('npm', [
    'ci',
    '--include=dev',
    '--no-fund',
    '--no-audit',
    '--no-update-notifier',
    '--loglevel=error',
  ]);
  if (result !== 0) {
    fail(
      'npm ci failed (its message is above). It needs the package registry: check the network and `npm config get registry`.',
    );
  }
}

function compile({ output, project, sources }) {
  const stamp = join(output, '.built');
  const newest = Math.max(...[...sources, project, 'tsconfig.json', 'package-lock.json'].map(newestChange));
  if (modifiedAt(stamp) >= newest) return;
  // Compiled aside and then moved, so that whoever runs the old output meanwhile never sees half of the new one.
  const aside = `${output}.next-${process.pid}`;
  const startedAt = new Date();
  const status = run(process.execPath, [
    join('node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    project,
    '--outDir',
    aside,
  ]);
  if (status !== 0) {
    rmSync(join(root, aside), { recursive: true, force: true });
    fail(`${project} does not compile (its errors are above).`);
  }
  // Dated by the start: a source that is saved while the compiler runs is newer than the stamp.
  writeFileSync(join(root, aside, '.built'), '');
  utimesSync(join(root, aside, '.built'), startedAt, startedAt);
  swap(aside, output);
}

function swap(aside, output) {
  const old = `${output}.old-${process.pid}`;
  if (existsSync(join(root, output))) renameSync(join(root, output), join(root, old));
  renameSync(join(root, aside), join(root, output));
  rmSync(join(root, old), { recursive: true, force: true });
}

/** The latest change of a file, or of anything in a folder (removals show in the folder's own time); 0 if missing. */
function newestChange(path) {
  const own = modifiedAt(path);
  if (own === 0 || !statSync(join(root, path)).isDirectory()) return own;
  return readdirSync(join(root, path)).reduce((newest, name) => Math.max(newest, newestChange(join(path, name))), own);
}

function modifiedAt(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function run(command, args) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (result.error) fail(`${command} cannot be started: ${result.error.message}`);
  return result.status ?? 1;
}

function fail(message) {
  console.error(`prepare: ${message}`);
  process.exit(1);
}
