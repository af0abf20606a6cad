/**
 * Everything that has to hold, in order: the gate, the alerts, the tests, the faults of a fleet, the tests on each other
 * Envoy, the fuzzer, the chaos runs, the soak, the simulator. Its last line is `N passed, N failed`; the gate, the fuzzer, each
 * chaos run, the soak and the simulator count as one each, and so does each step of promtool. Run by .ci/run, after prepare.mjs.
 */
import { spawnSync } from 'node:child_process';
import { sum, runTests } from './test-run.mjs';
import { checkRules } from './prometheus.mjs';
import { runOnAllEnvoys } from './envoys.mjs';

const FLEET_FAULTS = 'test/fleet-faults/';
const FUZZ_SECONDS = '60';
const CHAOS_MINUTES = '2';
const FLEET_CHAOS_MINUTES = '1';
const SOAK_EXCHANGES = '5000';
const SIMULATE_MINUTES = '0.33';

const runs = [
  step('harness/check.mjs'),
  checkRules(),
  // As `npm test` has it; what is left out there comes next.
  runTests({ exclude: [FLEET_FAULTS + '**'] }),
  runTests({ filters: [FLEET_FAULTS] }),
  runOnAllEnvoys(),
  step('.build/harness/fuzz.js', FUZZ_SECONDS),
  step('.build/chaos/main.js', '--minutes', CHAOS_MINUTES),
  step('.build/chaos/main.js', '--minutes', FLEET_CHAOS_MINUTES, '--redis'),
  step('.build/harness/soak.js', '--exchanges', SOAK_EXCHANGES),
  step('.build/harness/simulate.js', '--minutes', SIMULATE_MINUTES),
];
const { passed, failed, failures } = sum(runs);
// A run without tests proves nothing.
const missing = runs.filter((run) => run.passed + run.failed === 0).length;
if (missing > 0) console.error(`${missing} of ${runs.length} runs had no tests.`);
// Once more at the end: what was printed on the way is far up, or cut off.
for (const name of failures) console.log(`failed: ${name}`);
console.log(`${passed} passed, ${failed + missing} failed`);
process.exitCode = failed + missing === 0 ? 0 : 1;

/** A script that counts as one test. */
function step(script, ...args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0) return { passed: 1, failed: 0, failures: [] };
  return { passed: 0, failed: 1, failures: [[script, ...args].join(' ')] };
}
