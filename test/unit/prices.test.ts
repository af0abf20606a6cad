import { describe, expect, it } from 'vitest';

import { renderEffective } from '../../src/config/effective.ts';
import { costOf, priceOf } from '../../src/config/prices.ts';
import { readConfig, type ConfigResult } from '../../src/config/read.ts';

const price = (prompt: number): { prompt: number; completion: number } => ({ prompt, completion: prompt * 4 });
const prices = new Map([
  ['gpt-4o', price(2.5)],
  ['gpt-4o-2024-05-13', price(5)],
  ['claude-sonnet-4', price(3)],
]);

describe('the price of a model', () => {
  it.each([
    ['gpt-4o', 2.5],
    ['gpt-4o-2024-08-06', 2.5],
    ['gpt-4o-2024-05-13', 5],
    ['claude-sonnet-4-20250514', 3],
    ['claude-sonnet-4@20250514', 3],
  ])('%s is that of its name, or of its name without a date', (model, expected) => {
    expect(priceOf(prices, model)?.prompt).toBe(expected);
  });

  it.each(['gpt-4o-mini', 'gpt-4o-mini-2024-07-18', 'gpt-4', 'GPT-4o', 'gpt-4o-2024', 'x-gpt-4o', ''])(
    '%j has none: a name that only begins alike is another model',
    (model) => expect(priceOf(prices, model)).toBeNull(),
  );

  it('is per million tokens', () => {
    expect(costOf(prices, { model: 'gpt-4o', prompt: 2_000_000, completion: 500_000 })).toEqual({
      prompt: 5,
      completion: 5,
    });
    expect(costOf(prices, { model: 'other', prompt: 1, completion: 1 })).toEqual({ prompt: 0, completion: 0 });
  });
});

describe('prices', () => {
  const read = (text: string): ConfigResult => readConfig(text, { file: 'c.yaml', readFile: () => '' });

  it('are read, and printed by check', () => {
    const result = read('prices: {gpt-4o: {prompt: 2.5, completion: 10}, embed: {prompt: 0.02, completion: 0}}');
    const config = result.kind === 'config' ? result.config : null;
    expect(config?.prices.get('gpt-4o')).toEqual({ prompt: 2.5, completion: 10 });
    expect(config === null ? '' : renderEffective(config)).toContain(
      'prices:\n  gpt-4o:\n    prompt: 2.5\n    completion: 10\n  embed:\n    prompt: 0.02\n    completion: 0\n',
    );
  });

  it.each([
    ['prices: {a: 5}', '1: prices.a: 5 is not a mapping of keys'],
    ['prices: {a: {prompt: -1, completion: 0}}', '1: prices.a.prompt: -1 is not allowed, expected a number from 0'],
    ['prices: {a: {prompt: "1", completion: 0}}', '1: prices.a.prompt: "1" is not allowed'],
    ['prices: {a: {prompt: 1}}', '1: prices.a.completion: missing'],
    ['prices: {a: {prompt: 1, completion: 1, total: 1}}', '1: prices.a.total: unknown key'],
    ['prices: []', '1: prices: a list is not a mapping of keys'],
  ])('%s is a mistake', (text, expected) => {
    const result = read(text);
    const found =
      result.kind === 'mistakes' ? result.mistakes.map((one) => `${one.line}: ${one.path}: ${one.message}`) : [];
    expect(found).toEqual([expect.stringContaining(expected)]);
  });
});
