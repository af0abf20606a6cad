/** Every link in the documents leads to a file that is there, and to a heading in it. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';
import { readShipped } from '../support/deployed.ts';
import { type Document, documents, headingsOf } from '../support/documents.ts';

type Link = { readonly path: string; readonly heading: string | undefined };

describe.each(documents().map((document) => [document.path, document] as const))('%s', (_path, document) => {
  test('its links lead somewhere', () => {
    for (const { path, heading } of linksOf(document)) {
      expect(existsSync(join(repositoryRoot, path)), path).toBe(true);
      if (heading !== undefined) expect(headingsOf(readShipped(path)), path).toContain(heading);
    }
  });
});

test('there are links, and one that leads nowhere is seen', () => {
  expect(documents().flatMap(linksOf).length).toBeGreaterThan(40);
  expect(linksOf({ path: 'docs/a.md', text: '[x](../b.md#c-d) [y](https://e) [z](#f)' })).toEqual([
    { path: 'b.md', heading: 'c-d' },
    { path: 'docs/a.md', heading: 'f' },
  ]);
});

/** Those within the repository. */
function linksOf({ path, text }: Document): Link[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [file = '', heading] = target.split('#');
    return [{ path: file === '' ? path : join(dirname(path), file), heading }];
  });
}
