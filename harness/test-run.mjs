/** One run of vitest whose results are counted from its own report, so that nothing depends on what it prints. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
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

/** The sum of several runs, with the names of all that failed. */
export function sum(runs) {
  return {
    passed: runs.reduce((passed, run) => passed + run.passed, 0),
    failed: runs.reduce((failed, run) => failed + run.failed, 0),
    failures: runs.flatMap((run) => run.failures),
  };
}

function count(report, status) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8'));
  } catch (error) {
    console.error(`vitest left no report: ${error.message}`);
    return { passed: 0, failed: 1, failures: ['a run of vitest that left no report'] };
  }
  const skipped = results.numPendingTests + results.numTodoTests;
  if (skipped > 0) console.error(`${skipped} skipped: a skipped test counts as a failure.`);
  const failed = results.numFailedTests + skipped;
  const failures = results.testResults.flatMap(namesOfFailures);
  if (failed > 0 || status === 0) return { passed: results.numPassedTests, failed, failures };
  return {
    passed: results.numPassedTests,
    failed: 1,
    failures: ['a run of vitest that ended with an error', ...failures],
  };
}

/** Of one file: its tests that did not pass, or itself where it could not be loaded. */
function namesOfFailures({ name, status, message, assertionResults }) {
  const file = relative(root, name);
  const failed = assertionResults.filter((result) => result.status !== 'passed');
  if (failed.length === 0) return status === 'failed' ? [`${file}: ${message}`] : [];
  return failed.map((result) => `${file}: ${result.fullName} (${result.status})`);
}
