/**
 * The gate, `npm run check`: types, lint, format, unused code, SBOM, generated code. It runs every step even where an earlier one
 * fails, and ends with one line per step. What the steps look for is in .oxlintrc.json, knip.json and tsconfig.json.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeSbom } from './sbom.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = (name) => join(root, 'node_modules', '.bin', name);

/** Where there is generated code, this makes it; with `--check` it only compares. */
const generator = 'harness/proto-types.mjs';

const steps = [
  { name: 'types', passes: () => runs(bin('tsc'), ['-p', 'tsconfig.json']) },
  { name: 'lint', passes: lint },
  { name: 'format', passes: () => runs(bin('prettier'), ['--check', '--log-level=warn', '.']) },
  { name: 'unused code', passes: () => runs(bin('knip'), ['--no-progress']) },
  { name: 'SBOM', passes: writeSbom },
];
if (existsSync(join(root, generator))) {
  steps.push({ name: 'generated code', passes: () => runs(process.execPath, [generator, '--check']) });
}

const results = steps.map(({ name, passes }) => {
  const startedAt = performance.now();
  const passed = passes();
  return { name, passed, seconds: (performance.now() - startedAt) / 1000 };
});
for (const { name, passed, seconds } of results) {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name} (${seconds.toFixed(1)} s)`);
}
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;

/** A linter that finds no files passes too: so it has to say that it saw all of ours. */
function lint() {
  const result = spawnSync(bin('oxlint'), ['--type-aware', '--deny-warnings'], { cwd: root, encoding: 'utf8' });
  const output = `${result.stdout}${result.stderr}`;
  if (result.status !== 0) {
    console.error(output);
    return false;
  }
  const seen = Number(/on (\d+) files/.exec(output)?.[1] ?? 0);
  const expected = ['src', 'harness', 'test'].reduce((sum, folder) => sum + countSources(folder), 0);
  if (seen < expected)
    console.error(`oxlint saw ${seen} files, but src, harness and test have ${expected}:\n${output}`);
  return seen >= expected;
}

function countSources(folder) {
  const files = readdirSync(join(root, folder), { recursive: true });
  return files.filter((file) => file.endsWith('.ts') && !file.split(/[\\/]/).includes('generated')).length;
}

function runs(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;
}
