import { describe, expect, test } from 'vitest';

import { gate, type Ratio, readRatios, writeRatios } from '../../bench/report/ratios.ts';

const kept: readonly Ratio[] = [
  { name: 'requests', value: 0.8, better: 'higher' },
  { name: 'first byte', value: 2, better: 'lower' },
];

function measured(requests: number, firstByte: number): Ratio[] {
  return [
    { name: 'requests', value: requests, better: 'higher' },
    { name: 'first byte', value: firstByte, better: 'lower' },
  ];
}

describe('the gate', () => {
  test('passes the kept ratios, better ones, and noise', () => {
    expect(gate(kept, measured(0.8, 2))).toEqual([]);
    expect(gate(kept, measured(3, 0.1))).toEqual([]);
    expect(gate(kept, measured(0.51, 3.19))).toEqual([]);
  });

  test('fails a ratio that fell far, where higher is better', () => {
    expect(gate(kept, measured(0.49, 2))).toEqual(['requests: 0.49, should be at least 0.50 (kept: 0.80)']);
  });

  test('fails a ratio that rose far, where lower is better', () => {
    expect(gate(kept, measured(0.8, 3.3))).toEqual(['first byte: 3.30, should be at most 3.20 (kept: 2.00)']);
  });

  test('names a ratio that was not measured', () => {
    const missing = 'first byte: was not measured (kept: 2.00)';
    expect(gate(kept, measured(0.8, 2).slice(0, 1))).toEqual([missing]);
    expect(gate(kept, measured(0.8, Number.NaN))).toEqual([missing]);
  });

  test('ignores a ratio that is not kept', () => {
    expect(gate([], measured(0, 1e9))).toEqual([]);
  });

  test('names all that is wrong', () => {
    expect(gate(kept, [])).toHaveLength(2);
  });
});

describe('the kept ratios', () => {
  test('are read as they were written, without those that were not measured', () => {
    const written = writeRatios([...kept, { name: 'none', value: Number.NaN, better: 'lower' }]);
    expect(readRatios(written)).toEqual(kept);
  });

  test.each([
    '{}',
    '[1]',
    '[{"name":"a","value":"1","better":"lower"}]',
    '[{"name":"a","value":0,"better":"lower"}]',
    '[{"name":"a","value":1}]',
  ])('are refused as %s', (text) => {
    expect(() => readRatios(text)).toThrow('bench/ratios.json');
  });
});
