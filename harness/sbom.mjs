/**
 * What we ship is made of: a CycloneDX list by npm, in .build/sbom.cdx.json. It has to name every package that the lock file
 * installs for running, at its version and with its licence, and no other. npm's own `--omit dev` leaves out what a
 * development dependency has as a peer too (npm 11.19 left out zod and yaml): so it lists all, and the lock file chooses.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Writes the list; false, with the reasons on stderr, where it cannot be made or is not whole. */
export function writeSbom() {
  const args = ['sbom', '--sbom-format', 'cyclonedx'];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) {
    console.error(`npm ${args.join(' ')} ended with ${status}: ${stderr}`);
    return false;
  }
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const sbom = shippedPart(JSON.parse(stdout), lock);
  const faults = faultsIn(sbom, lock);
  for (const fault of faults) console.error(fault);
  mkdirSync(join(root, '.build'), { recursive: true });
  writeFileSync(join(root, '.build', 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
  return faults.length === 0;
}

/** What of a list of everything is installed for running. */
export function shippedPart(sbom, lock) {
  const wanted = shippedPackages(lock);
  const components = sbom.components.filter((each) => wanted.has(`${nameOf(each)}@${each.version}`));
  const own = sbom.metadata?.component?.['bom-ref'];
  const refs = new Set([own, ...components.map((each) => each['bom-ref'])]);
  const dependencies = (sbom.dependencies ?? [])
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  return { ...sbom, components, dependencies };
}

function shippedPackages({ packages }) {
  const shipped = Object.entries(packages).filter(([path, { dev, devOptional, optional }]) => {
    return path !== '' && !dev && !devOptional && !optional;
  });
  return new Set(shipped.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`));
}

/** One sentence for each package that is missing, too many or without a licence. */
export function faultsIn(sbom, lock) {
  const listed = new Map((sbom.components ?? []).map((each) => [`${nameOf(each)}@${each.version}`, each]));
  const wanted = shippedPackages(lock);
  if (wanted.size === 0) return ['the lock file has no package for running'];
  return [
    ...[...wanted].filter((name) => !listed.has(name)).map((name) => `the SBOM lacks ${name}`),
    ...[...listed.keys()]
      .filter((name) => !wanted.has(name))
      .map((name) => `the SBOM has ${name}, which is not shipped`),
    ...[...listed].filter(([, { licenses }]) => !licenses?.length).map(([name]) => `${name} names no licence`),
  ];
}

function nameOf({ group, name }) {
  return group === undefined ? name : `${group}/${name}`;
}
