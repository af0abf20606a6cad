/** When a publication writes, and whom it takes for a reader; what Redis makes of it is in test/redis. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Key } from '../../src/coalesce/key/key.ts';
import { Ledger } from '../../src/redis/ledger.ts';
import type { Link } from '../../src/redis/link/link.ts';
import { Publication } from '../../src/redis/publication.ts';
import { keyNames } from '../../src/redis/stream/names.ts';
import { createSeal } from '../../src/redis/stream/seal.ts';

const leaseMs = 3_000;
const secret = Buffer.alloc(32, 1);
const token = 'a'.repeat(32);
const names = keyNames(secret, 'test:', 'b'.repeat(64) as Key);

/** What a script answers: whether somebody reads, or that the writer may write no more. */
const READ = 1;
const UNREAD = 0;
const FENCED = -1;

/** A publication on a link that answers as `answer` says, and when it wrote. */
function publishing(answer: () => Promise<unknown>): { publication: Publication; writtenAt: number[] } {
  const writtenAt: number[] = [];
  const link: Link = {
    isUp: () => true,
    run: (lane) => {
      if (lane === 'streams') writtenAt.push(performance.now());
      return answer();
    },
    range: async () => [],
    listen: async () => undefined,
    unlisten: () => undefined,
    renew: () => undefined,
    close: () => undefined,
  };
  const seal = createSeal({ secret, name: names.name, token, encrypt: true });
  const fenced = (): void => undefined;
  const options = { link, names, token, seal, leaseMs, maxStreamBytes: 1e6, unwritten: new Ledger(1e6), fenced };
  return { publication: new Publication(options), writtenAt };
}

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'performance'],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

test('from one write to the next it is never longer than a third of a lease, whenever bytes came', async () => {
  for (let firstMs = 50; firstMs < leaseMs; firstMs += 50) {
    const { publication, writtenAt } = publishing(async () => UNREAD);
    const beganAt = performance.now();
    await vi.advanceTimersByTimeAsync(firstMs);
    publication.append('head', Buffer.from('{}'));
    await vi.advanceTimersByTimeAsync(3 * leaseMs);
    publication.abandon();
    const gaps = writtenAt.map((at, index) => at - (writtenAt[index - 1] ?? beganAt));
    expect(gaps.length).toBeGreaterThanOrEqual(9);
    // A turn of the event loop more.
    expect(Math.max(...gaps)).toBeLessThanOrEqual(leaseMs / 3 + 1);
  }
});

test('a write that takes its time delays the next by no more than that', async () => {
  const slowMs = 400;
  const { publication, writtenAt } = publishing(
    () => new Promise((resolve) => setTimeout(() => resolve(UNREAD), slowMs)),
  );
  await vi.advanceTimersByTimeAsync(3 * leaseMs);
  publication.abandon();
  const gaps = writtenAt.slice(1).map((at, index) => at - (writtenAt[index] ?? 0));
  expect(gaps.length).toBeGreaterThanOrEqual(5);
  for (const gap of gaps) expect(gap).toBeLessThanOrEqual(leaseMs / 3 + slowMs + 1);
});

test('what is over is not written, and has no readers: not where its lease was lost', async () => {
  const reply = { now: READ };
  const { publication, writtenAt } = publishing(async () => reply.now);
  publication.append('head', Buffer.from('{}'));
  await vi.advanceTimersByTimeAsync(10);
  expect(publication.isFollowed).toBe(true);
  reply.now = FENCED;
  publication.append('bytes', Buffer.from('x'));
  await vi.advanceTimersByTimeAsync(10);
  expect(publication).toMatchObject({ isOver: true, isFollowed: false });
  const written = writtenAt.length;
  await vi.advanceTimersByTimeAsync(2 * leaseMs);
  expect(writtenAt.length).toBe(written);
});

test('what is over has no readers: not where Redis was lost for a lease', async () => {
  const redis = { isThere: true };
  const { publication } = publishing(async () => {
    if (!redis.isThere) throw new Error('not connected');
    return READ;
  });
  publication.append('head', Buffer.from('{}'));
  await vi.advanceTimersByTimeAsync(10);
  expect(publication.isFollowed).toBe(true);
  redis.isThere = false;
  await vi.advanceTimersByTimeAsync(leaseMs / 3 + 10);
  // Its readers may be there for as long as the lease holds.
  expect(publication).toMatchObject({ isOver: false, isFollowed: true });
  await vi.advanceTimersByTimeAsync(2 * leaseMs);
  expect(publication).toMatchObject({ isOver: true, isFollowed: false });
});
