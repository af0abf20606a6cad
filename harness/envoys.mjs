/**
 * The tests on a real Envoy, once for each version but the current one (which `npm test` has): test/envoy on the supported
 * versions, test/envoy-old on the one that fails open.
 */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { currentVersion, failOpenVersion, supportedVersions } from '../.build/harness/envoy-binary.js';
import { runTests, sum } from './test-run.mjs';

/** Runs them all and prints a line per version. */
export function runOnAllEnvoys() {
  const runs = supportedVersions
    .filter((version) => version !== currentVersion)
    .map((version) => runOn(version, 'test/envoy/'));
  if (existsSync('test/envoy-old')) runs.push(runOn(failOpenVersion, 'test/envoy-old/'));
  for (const { version, passed, failed } of runs) console.log(`Envoy ${version}: ${passed} passed, ${failed} failed`);
  return sum(runs);
}

function runOn(version, folder) {
  console.log(`\nEnvoy ${version}: ${folder}`);
  const counts = runTests({ filters: [folder], envoyVersion: version });
  const failures = counts.failures.map((name) => `Envoy ${version}: ${name}`);
  return { version, ...counts, failures };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { passed, failed } = runOnAllEnvoys();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}
