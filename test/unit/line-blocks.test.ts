/** When lines are passed on, and that none is lost, parted or told out of order. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LineBlocks } from '../../src/observe/line-blocks.ts';

let blocks: string[];
let flushes: number;
let syncs: string[][];
let lines: LineBlocks;

beforeEach(() => {
  vi.useFakeTimers();
  blocks = [];
  flushes = 0;
  syncs = [];
  lines = new LineBlocks({
    write: (block) => blocks.push(block),
    flush: (done) => {
      flushes += 1;
      done();
    },
    flushSync: () => syncs.push([...blocks]),
  });
});
afterEach(() => vi.useRealTimers());

test('a line after a while without any goes at once, those behind it wait for a while', () => {
  lines.write('one\n');
  lines.write('two\n');
  vi.advanceTimersByTime(150);
  lines.write('three\n');
  expect(blocks).toEqual(['one\n']);
  vi.advanceTimersByTime(50);
  expect(blocks).toEqual(['one\n', 'two\nthree\n']);
  vi.advanceTimersByTime(200);
  lines.write('four\n');
  expect(blocks.slice(2)).toEqual(['four\n']);
});

test('or for a full block', () => {
  const line = `${'x'.repeat(1023)}\n`;
  lines.write('first\n');
  for (let count = 0; count < 31; count += 1) lines.write(line);
  expect(blocks).toEqual(['first\n']);
  lines.write(line);
  expect(blocks).toEqual(['first\n', line.repeat(32)]);
  // Blocks that fill up go at the pace at which they do, and what is left of them in its time.
  lines.write(line);
  vi.advanceTimersByTime(199);
  expect(blocks).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(blocks).toHaveLength(3);
});

test('or for a flush, which is over when the destination’s own is', () => {
  lines.write('one\n');
  lines.write('two\n');
  const done = vi.fn();
  lines.flush(done);
  expect([blocks, flushes]).toEqual([['one\n', 'two\n'], 1]);
  expect(done).toHaveBeenCalledOnce();
  lines.flush(done);
  expect([blocks.length, flushes]).toEqual([2, 2]);
});

test('a line that is longer than a block goes at once, behind those before it', () => {
  lines.write('one\n');
  lines.write('two\n');
  lines.write(`${'y'.repeat(40_000)}\n`);
  expect(blocks).toEqual(['one\n', `two\n${'y'.repeat(40_000)}\n`]);
});

test('or for a line that is to be out before anything else happens', () => {
  lines.write('one\n');
  lines.write('two\n');
  lines.flushSync();
  expect(syncs).toEqual([['one\n', 'two\n']]);
});
