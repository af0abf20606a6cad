/** docs/tuning.md says of each number under which a call waits, gives way or is tried again when to change it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { repositoryRoot } from '../../harness/root.ts';
import { renderEffective } from '../../src/config/effective.ts';
import { defaultConfig } from '../../src/config/read.ts';

const text = readFileSync(join(repositoryRoot, 'docs', 'tuning.md'), 'utf8');
const defaults = parse(renderEffective(defaultConfig())) as Record<string, Record<string, unknown>>;
const groups = ['limits', 'late_join', 'deadlines', 'admission', 'retry'];
const names = groups.flatMap((group) => Object.keys(defaults[group] ?? {}).map((name) => `${group}.${name}`));

test('there are such numbers', () => expect(names.length).toBeGreaterThan(20));

test.each([...names, 'orphan_grace', 'max_promotions', 'negative_cache'])('%s', (name) => {
  expect(text).toContain(`\`${name}\``);
});
