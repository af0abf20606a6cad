import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, test, vi } from 'vitest';

import { ReplayBuffer, type Cursor } from '../../src/coalesce/flight/replay-buffer.ts';

function bufferOf(...chunks: readonly string[]): ReplayBuffer {
  const buffer = new ReplayBuffer();
  for (const chunk of chunks) buffer.append(Buffer.from(chunk));
  return buffer;
}

function open(buffer: ReplayBuffer): Cursor {
  const cursor = buffer.openCursor();
  if (cursor === null) throw new Error('the first byte is gone');
  return cursor;
}

function readAll(buffer: ReplayBuffer, cursor: Cursor): string {
  let text = '';
  for (let bytes = buffer.read(cursor); bytes !== null; bytes = buffer.read(cursor))
    text += Buffer.from(bytes).toString();
  return text;
}

describe('reading', () => {
  test('each cursor gets every byte, whenever it was opened', () => {
    const buffer = bufferOf('one', 'two');
    const early = open(buffer);
    expect(readAll(buffer, early)).toBe('onetwo');
    buffer.append(Buffer.from('six'));
    expect(readAll(buffer, early)).toBe('six');
    expect(readAll(buffer, open(buffer))).toBe('onetwosix');
  });

  test('at the end of what is recorded there is nothing, and the cursor stays', () => {
    const buffer = bufferOf('one');
    const cursor = open(buffer);
    expect(buffer.isAtEnd(cursor)).toBe(false);
    readAll(buffer, cursor);
    expect([buffer.read(cursor), buffer.isAtEnd(cursor), cursor.offset]).toEqual([null, true, 3]);
  });

  test('a single chunk is handed out as it is, not copied', () => {
    const chunk = Buffer.from('chunk');
    const buffer = new ReplayBuffer();
    buffer.append(chunk);
    expect(buffer.read(open(buffer))).toBe(chunk);
  });

  test('several chunks are joined up to 16 KiB, and a larger one is parted', () => {
    const buffer = new ReplayBuffer();
    for (const size of [7_500, 7_500, 7_500, 25_000, 10]) buffer.append(Buffer.alloc(size));
    const cursor = open(buffer);
    const sizes = Array.from({ length: 5 }, () => buffer.read(cursor)?.length ?? null);
    expect(sizes).toEqual([15_000, 7_500, 16_384, 8_626, null]);
  });

  test('late readers share the pieces that are full, wherever others stand', () => {
    const buffer = new ReplayBuffer();
    const whole = Array.from({ length: 45 }, (_, index) => Buffer.alloc(1_250, index));
    for (const chunk of whole) buffer.append(chunk);
    const piecesOf = (cursor: Cursor): (Uint8Array | null)[] => Array.from({ length: 4 }, () => buffer.read(cursor));
    const midway = { offset: 3_750 };
    const first = piecesOf(open(buffer));
    buffer.read(midway);
    const second = piecesOf(open(buffer));
    expect(first.slice(0, 3).every((piece, index) => piece === second[index])).toBe(true);
    // The last one can still grow, and what is given meanwhile stays as it is.
    expect(first[3]).toBe(second[3]);
    expect(Buffer.concat(second.map((piece) => piece ?? Buffer.alloc(0))).equals(Buffer.concat(whole))).toBe(true);
    // Who stood within a piece takes its rest, and then the same pieces as all.
    expect(buffer.read(midway)).toBe(first[1]);
    expect(readAll(buffer, midway)).toBe(Buffer.concat(whole.slice(26)).toString());
    expect(buffer.heldBytes).toBe(56_250);
  });

  test('what was given of the end stays as it is when more comes', () => {
    const buffer = bufferOf('one', 'two');
    const given = buffer.read(open(buffer));
    buffer.append(Buffer.from('six'));
    expect([Buffer.from(given ?? []).toString(), readAll(buffer, open(buffer))]).toEqual(['onetwo', 'onetwosix']);
    buffer.append(Buffer.alloc(16 * 1024, '.'));
    expect(buffer.read(open(buffer))?.length).toBe(9);
  });

  test('a cursor before what was dropped reads nothing, rather than other bytes', () => {
    const buffer = bufferOf('one', 'two');
    buffer.dropBefore(3);
    expect(buffer.read({ offset: 0 })).toBeNull();
  });

  test('a full piece is made once, by the join that was given', () => {
    let joins = 0;
    const buffer = new ReplayBuffer((chunks) => {
      joins += 1;
      return Buffer.concat(chunks);
    });
    for (let count = 0; count < 64; count += 1) buffer.append(Buffer.alloc(1_024, count));
    for (let reader = 0; reader < 10; reader += 1) readAll(buffer, open(buffer));
    // Three pieces of 16 KiB, and what is behind them.
    expect(joins).toBe(4);
  });

  test('what nobody reads is not joined, unless it is many small chunks', () => {
    let joins = 0;
    const counting = (chunks: readonly Uint8Array[]): Uint8Array => {
      joins += 1;
      return Buffer.concat(chunks);
    };
    const [large, small] = [new ReplayBuffer(counting), new ReplayBuffer(counting)];
    for (let count = 0; count < 40; count += 1) large.append(Buffer.alloc(4_096, count));
    expect([joins, large.heldBytes]).toEqual([0, 163_840]);
    for (let count = 0; count < 400; count += 1) small.append(Buffer.alloc(409, count));
    expect(joins).toBe(9);
    expect([large.dropBefore(20_000), joins]).toEqual([16_384, 9]);
    expect(Buffer.byteLength(readAll(large, { offset: 16_384 }))).toBe(147_456);
  });

  test('a piece that was joined holds its chunks no longer', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const buffer = new ReplayBuffer();
    const chunks: WeakRef<ArrayBuffer>[] = [];
    for (let count = 0; count < 20; count += 1) {
      const memory = new ArrayBuffer(8_192);
      chunks.push(new WeakRef(memory));
      buffer.append(new Uint8Array(memory));
    }
    readAll(buffer, open(buffer));
    await vi.waitFor(() => {
      collect();
      expect(chunks.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThanOrEqual(2);
    });
    expect(buffer.heldBytes).toBe(163_840);
  });

  test('empty chunks leave no trace', () => {
    const buffer = bufferOf('', 'one', '');
    expect([buffer.length, readAll(buffer, open(buffer))]).toEqual([3, 'one']);
  });
});

describe('dropping', () => {
  test('bytes before a cursor go, the cursor reads on, and no other can be opened', () => {
    const buffer = bufferOf('one', 'four', 'seven');
    const cursor = { offset: 3 };
    expect(buffer.isHeldBackBy(cursor)).toBe(false);
    expect(buffer.dropBefore(3)).toBe(3);
    expect([buffer.length, buffer.heldBytes, buffer.openCursor()]).toEqual([12, 9, null]);
    expect(buffer.isHeldBackBy(cursor)).toBe(true);
    buffer.append(Buffer.from('!'));
    expect(readAll(buffer, cursor)).toBe('fourseven!');
    expect(buffer.isAtEnd(cursor)).toBe(true);
  });

  test('dropping what is gone, or more than there is, frees each byte once', () => {
    const buffer = bufferOf('one', 'two');
    expect([buffer.dropBefore(5), buffer.dropBefore(5), buffer.dropBefore(0), buffer.dropBefore(99)]).toEqual([
      3, 0, 0, 3,
    ]);
    expect(buffer.heldBytes).toBe(0);
  });

  test('clearing frees all that is held, and the length stays', () => {
    const buffer = bufferOf('one', 'two');
    buffer.dropBefore(3);
    expect([buffer.clear(), buffer.clear(), buffer.heldBytes, buffer.length]).toEqual([3, 0, 0, 6]);
  });

  test('however bytes come and go, each cursor that is ahead of what was dropped reads on', () => {
    const buffer = new ReplayBuffer();
    const cursor = open(buffer);
    let text = '';
    for (let number = 0; number < 200; number += 1) {
      buffer.append(Buffer.from(`${number},`));
      if (number % 7 > 2) text += Buffer.from(buffer.read(cursor) ?? []).toString();
      if (number % 5 > 2) buffer.dropBefore(cursor.offset);
      expect(buffer.heldBytes).toBeGreaterThanOrEqual(buffer.length - cursor.offset);
    }
    text += readAll(buffer, cursor);
    buffer.dropBefore(cursor.offset);
    expect(text).toBe(Array.from({ length: 200 }, (_, number) => `${number},`).join(''));
    expect(buffer.heldBytes).toBe(0);
  });

  test('what has nothing held is held back by nobody', () => {
    const buffer = bufferOf('one');
    expect(buffer.isHeldBackBy({ offset: 0 })).toBe(true);
    buffer.clear();
    expect(buffer.isHeldBackBy({ offset: 3 })).toBe(false);
  });

  test('an empty buffer loses nothing by it: it can still be read from its first byte', () => {
    const buffer = bufferOf();
    buffer.clear();
    buffer.append(Buffer.from('one'));
    expect(readAll(buffer, open(buffer))).toBe('one');
  });
});
