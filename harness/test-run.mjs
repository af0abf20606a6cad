/** One run of vitest whose results are counted from its own report, so that nothing depends on what it prints. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Runs the tests that the filters name (all without any), but for those that `exclude` has, on the Envoy version given. A
 * skipped test, a file that cannot be loaded and a run that leaves no report are failures.
 */
export function runTests({ filters = [], exclude = [], envoyVersion }) {
  const folder = mkdtempSync(join(tmpdir(), 'envoy-coalescer-tests-'));
  const report = join(folder, 'report.json');
  const env = envoyVersion === undefined ? process.env : { ...process.env, ENVOY_VERSION: envoyVersion };
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const options = [...reporters, ...exclude.map((pattern) => `--exclude=${pattern}`), ...filters];
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...options], {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const counts = count(report, status ?? 1);
  rmSync(folder, { recursive: true, force: true });
  return counts;
}

/** The sum of several runs. */
export function sum(runs) {
  return runs.reduce((all, run) => ({ passed: all.passed + run.passed, failed: all.failed + run.failed }), {
    passed: 0,
    failed: 0,
  });
}

function count(report, status) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8'));
  } catch (error) {
    console.error(`vitest left no report: ${error.message}`);
    return { passed: 0, failed: 1 };
  }
  const skipped = results.numPendingTests + results.numTodoTests;
  if (skipped > 0) console.error(`${skipped} skipped: a skipped test counts as a failure.`);
  const failed = results.numFailedTests + skipped;
  return { passed: results.numPassedTests, failed: failed === 0 && status !== 0 ? 1 : failed };
}
