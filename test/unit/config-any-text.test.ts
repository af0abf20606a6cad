import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { knownKeys } from '../../src/config/definition.ts';
import { inlinePolicy } from '../../src/config/inline-policy.ts';
import { defaultConfig, readConfig } from '../../src/config/read.ts';

const base = defaultConfig().policy;
const read = (text: string): ReturnType<typeof readConfig> => {
  return readConfig(text, { file: 'c.yaml', readFile: () => 'x'.repeat(40) });
};

/** Texts that get past the syntax: known and unknown keys with values of every type. */
const almostConfig = fc
  .dictionary(
    fc.oneof(fc.constantFrom(...knownKeys().map((key) => key.split('.')[0] ?? '')), fc.string()),
    fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom('1s', '1KiB', 'off', '127.0.0.1:1', 'http://h:1')),
    { maxKeys: 5 },
  )
  .map((value) => JSON.stringify(value));

const yamlish = fc.string({ unit: fc.constantFrom(...'a:-[]{}&*!|>?#\'"\n ,%@1'), maxLength: 60 });

describe('any text', () => {
  it('is a configuration or has a mistake with a line of the text', () => {
    fc.assert(
      fc.property(fc.oneof(almostConfig, yamlish), (text) => {
        const result = read(text);
        if (result.kind === 'config') return;
        const lines = text.split('\n').length;
        expect(result.mistakes.length).toBeGreaterThan(0);
        expect(result.mistakes.every(({ line }) => line >= 1 && line <= lines + 1)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('is an inline policy or a mistake', () => {
    fc.assert(
      fc.property(fc.oneof(almostConfig, yamlish), (text) => {
        expect(['policy', 'mistake']).toContain(inlinePolicy(base, text).kind);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['[', '{"a":', '- ', '? '])('of nothing but %s, thousands of times, is a mistake', (piece) => {
    const text = piece.repeat(Math.floor(16_000 / piece.length));
    expect(read(text).kind).toBe('mistakes');
    expect(inlinePolicy(base, text).kind).toBe('mistake');
  });

  it('nested thousands deep and well formed is a mistake', () => {
    for (const text of [
      `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      `{"tenant":{"from":${'['.repeat(5000)}${']'.repeat(5000)}}}`,
    ]) {
      expect(read(text).kind).toBe('mistakes');
      expect(inlinePolicy(base, text).kind).toBe('mistake');
    }
  });
});
