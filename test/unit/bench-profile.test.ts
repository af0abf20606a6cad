import { expect, test } from 'vitest';

import { partsOf } from '../../bench/profile/parts.ts';

const frame = (functionName: string, url: string): { functionName: string; url: string } => ({ functionName, url });

/** Samples 1 ms apart: the time of each counts from it to the next. */
function profile(samples: readonly number[]): Parameters<typeof partsOf>[0] {
  return {
    nodes: [
      { id: 1, callFrame: frame('(root)', ''), children: [2, 3, 5, 6] },
      { id: 2, callFrame: frame('(idle)', '') },
      { id: 3, callFrame: frame('write', 'file:///app/dist/extproc/wire/reply.js'), children: [4] },
      { id: 4, callFrame: frame('latin1Write', '') },
      { id: 5, callFrame: frame('respond', 'node:internal/http2/core') },
      { id: 6, callFrame: frame('(garbage collector)', '') },
    ],
    samples,
    timeDeltas: samples.map(() => 1000),
  };
}

test('busy time is divided among the parts, native code counting for its caller', () => {
  expect(partsOf(profile([3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 2, 2]), 0)).toEqual([
    ['our codec', 50],
    ['HTTP/2, streams and sockets of Node', 30],
    ['garbage collection', 20],
  ]);
});

test('what ran before the load is left out', () => {
  expect(partsOf(profile([5, 5, 5, 3, 3, 2]), 4)).toEqual([['our codec', 100]]);
});
