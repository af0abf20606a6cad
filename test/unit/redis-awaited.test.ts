/** What a session owes, and that its loss settles what the client library does not. */
import { expect, test } from 'vitest';
import { Awaited } from '../../src/redis/link/awaited.ts';

const never = new Promise<string>(() => undefined);
const lost = new Error('no answer within 1000 ms');

test('what is answered is passed on, and is due no more', async () => {
  const awaited = new Awaited();
  const before = performance.now();
  const reply = awaited.of(Promise.resolve('answer'));
  expect(awaited.oldestAt).toBeGreaterThanOrEqual(before);
  expect(await reply).toBe('answer');
  await expect(awaited.of(Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(awaited.oldestAt).toBeNull();
});

test('what has no answer when the session is lost is rejected with the cause, and is due no more', async () => {
  const awaited = new Awaited();
  const replies = Promise.allSettled([awaited.of(never), awaited.of(never)]);
  awaited.lose(lost);
  expect(awaited.oldestAt).toBeNull();
  expect(await replies).toEqual([
    { status: 'rejected', reason: lost },
    { status: 'rejected', reason: lost },
  ]);
});

test('the oldest that is due counts, whichever was answered since', async () => {
  const awaited = new Awaited();
  const stuck = awaited.of(never);
  const { oldestAt } = awaited;
  await awaited.of(Promise.resolve('answer'));
  expect(awaited.oldestAt).toBe(oldestAt);
  awaited.lose(lost);
  await expect(stuck).rejects.toBe(lost);
});

test('an answer that comes after the loss disturbs nobody', async () => {
  const awaited = new Awaited();
  let answerLate: (error: Error) => void = () => undefined;
  const reply = awaited.of(
    new Promise((_resolve, reject) => {
      answerLate = reject;
    }),
  );
  awaited.lose(lost);
  answerLate(new Error('late'));
  await expect(reply).rejects.toBe(lost);
});
