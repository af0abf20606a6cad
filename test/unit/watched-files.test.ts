import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { WatchedFiles } from '../../src/config/reloading/watched-files.ts';

let folder = '';
let files = new WatchedFiles();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'watched-'));
  files = new WatchedFiles();
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);

function read(...names: readonly string[]): string[] {
  return files.readAnew((readFile) =>
    names.map((name) => {
      try {
        return readFile(at(name)).toString();
      } catch {
        return 'cannot be read';
      }
    }),
  );
}

/** True once at the second look after a change. */
async function change(): Promise<boolean> {
  const first = await files.haveChanged();
  expect(first).toBe(false);
  return files.haveChanged();
}

it('files that stay as they were read have not changed', async () => {
  writeFileSync(at('a'), 'one');
  expect(read('a')).toEqual(['one']);
  expect(await change()).toBe(false);
});

it('a file written in place has changed, and not again once it was read anew', async () => {
  writeFileSync(at('a'), 'one');
  read('a');
  writeFileSync(at('a'), 'two');
  expect(await change()).toBe(true);
  expect(read('a')).toEqual(['two']);
  expect(await change()).toBe(false);
});

it('a change that keeps size and modification time is one', async () => {
  writeFileSync(at('a'), 'one');
  utimesSync(at('a'), 1, 1);
  read('a');
  writeFileSync(at('a'), 'two');
  utimesSync(at('a'), 1, 1);
  expect(await change()).toBe(true);
});

it('a file that is renamed into its place has changed', async () => {
  writeFileSync(at('a'), 'one');
  read('a');
  writeFileSync(at('.a.swp'), 'two');
  renameSync(at('.a.swp'), at('a'));
  expect(await change()).toBe(true);
  expect(read('a')).toEqual(['two']);
});

it('a ConfigMap whose ..data is swapped has changed', async () => {
  for (const version of ['..1', '..2']) {
    mkdirSync(at(version));
    writeFileSync(join(at(version), 'a'), version);
  }
  symlinkSync('..1', at('..data'));
  symlinkSync(join('..data', 'a'), at('a'));
  expect(read('a')).toEqual(['..1']);
  symlinkSync('..2', at('..data_tmp'));
  renameSync(at('..data_tmp'), at('..data'));
  expect(await change()).toBe(true);
  expect(read('a')).toEqual(['..2']);
  rmSync(at('..1'), { recursive: true });
  expect(await change()).toBe(false);
});

it('a file that goes has changed, and so has one that comes', async () => {
  writeFileSync(at('a'), 'one');
  read('a');
  rmSync(at('a'));
  expect(await change()).toBe(true);
  expect(read('a')).toEqual(['cannot be read']);
  expect(await change()).toBe(false);
  writeFileSync(at('a'), 'one');
  expect(await change()).toBe(true);
});

it('a folder that is swapped has changed', async () => {
  mkdirSync(at('conf'));
  writeFileSync(at('conf/a'), 'one');
  read('conf/a');
  mkdirSync(at('next'));
  writeFileSync(at('next/a'), 'two');
  renameSync(at('conf'), at('old'));
  renameSync(at('next'), at('conf'));
  expect(await change()).toBe(true);
  expect(read('conf/a')).toEqual(['two']);
});

it('any file of several counts, those of an earlier reading no more', async () => {
  for (const name of ['a', 'secret']) writeFileSync(at(name), 'one');
  read('a', 'secret');
  writeFileSync(at('secret'), 'two');
  expect(await change()).toBe(true);
  read('a');
  writeFileSync(at('secret'), 'three');
  expect(await change()).toBe(false);
});

it('a file that is still being written waits until it stands still', async () => {
  writeFileSync(at('a'), 'one');
  read('a');
  for (const text of ['m', 'mo', 'mode: o']) {
    writeFileSync(at('a'), text);
    expect(await files.haveChanged()).toBe(false);
  }
  expect(await files.haveChanged()).toBe(true);
});

it('what changes while a look is under way belongs to the reading that comes between', async () => {
  writeFileSync(at('a'), 'one');
  read('a');
  writeFileSync(at('a'), 'two');
  await files.haveChanged();
  const look = files.haveChanged();
  read('a');
  expect(await look).toBe(false);
  expect(await change()).toBe(false);
});
