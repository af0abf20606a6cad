/**
 * Everything that has to hold, in order: the gate, the alerts, the tests, the tests on each other Envoy. Its last
 * line is `N passed, N failed`; the gate counts as one, and so does each step of promtool. Run by .ci/run, after prepare.mjs.
 */
import { spawnSync } from 'node:child_process';
import { sum, runTests } from './test-run.mjs';
import { checkRules } from './prometheus.mjs';
import { runOnAllEnvoys } from './envoys.mjs';

const gate = spawnSync(process.execPath, ['harness/check.mjs'], { stdio: ['ignore', 'inherit', 'inherit'] });
const runs = [
  gate.status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 },
  checkRules(),
  runTests({}),
  runOnAllEnvoys(),
];
const { passed, failed } = sum(runs);
// A run without tests proves nothing.
const missing = runs.filter((run) => run.passed + run.failed === 0).length;
if (missing > 0) console.error(`${missing} of ${runs.length} runs had no tests.`);
console.log(`${passed} passed, ${failed + missing} failed`);
process.exitCode = failed + missing === 0 ? 0 : 1;
