import { expect, test } from 'vitest';

import { faultsIn, shippedPart } from '../../harness/sbom.mjs';

const licenses = [{ license: { id: 'MIT' } }];
const component = (name: string, version: string): object => ({
  'bom-ref': `${name}@${version}`,
  name,
  version,
  licenses,
});
const lock = {
  packages: {
    '': { version: '0.1.0' },
    'node_modules/zod': { version: '4.6.7' },
    'node_modules/@grpc/grpc-js': { version: '1.14.7' },
    'node_modules/a/node_modules/b': { version: '2.0.0' },
    'node_modules/vitest': { version: '4.0.0', dev: true },
  },
};
const shipped = [component('zod', '4.6.7'), component('@grpc/grpc-js', '1.14.7'), component('b', '2.0.0')];

test('a list of all is cut to what is installed for running, with what hangs on what', () => {
  const all = {
    components: [...shipped, component('vitest', '4.0.0')],
    dependencies: [{ ref: 'zod@4.6.7', dependsOn: ['vitest@4.0.0', 'b@2.0.0'] }, { ref: 'vitest@4.0.0' }],
  };
  const part = shippedPart(all, lock);
  expect(part.components).toEqual(shipped);
  expect(part.dependencies).toEqual([{ ref: 'zod@4.6.7', dependsOn: ['b@2.0.0'] }]);
  expect(faultsIn(part, lock)).toEqual([]);
});

test('a package that is missing, in another version, too many or without a licence is a fault', () => {
  const components = [component('zod', '4.0.0'), component('@grpc/grpc-js', '1.14.7'), { name: 'b', version: '2.0.0' }];
  expect(faultsIn({ components }, lock)).toEqual([
    'the SBOM lacks zod@4.6.7',
    'the SBOM has zod@4.0.0, which is not shipped',
    'b@2.0.0 names no licence',
  ]);
});

test('a lock file that says nothing proves nothing', () => {
  expect(faultsIn({ components: [] }, { packages: {} })).toEqual(['the lock file has no package for running']);
});
