import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { watchLoopDelay, type LoopDelay } from '../../src/server/loop-delay.ts';

let delay: LoopDelay;
beforeEach(() => {
  vi.useFakeTimers();
  delay = watchLoopDelay();
});
afterEach(() => {
  delay.stop();
  vi.useRealTimers();
});

test('a loop that beats in time has no delay', () => {
  vi.advanceTimersByTime(1_000);
  expect(delay.current()).toBe(0);
});

test('a beat that has not come yet counts while it is late', () => {
  vi.advanceTimersByTime(1_000);
  const now = performance.now();
  const spy = vi.spyOn(performance, 'now').mockReturnValue(now + 700);
  expect(delay.current()).toBe(600);
  spy.mockRestore();
});

test('a late beat counts until the next one', () => {
  const now = performance.now();
  const spy = vi.spyOn(performance, 'now').mockReturnValue(now + 400);
  vi.advanceTimersByTime(100);
  expect(delay.current()).toBe(300);
  spy.mockReturnValue(now + 500);
  vi.advanceTimersByTime(100);
  expect(delay.current()).toBe(0);
  spy.mockRestore();
});

test('it keeps no process alive and stops when told to', () => {
  expect(vi.getTimerCount()).toBe(1);
  delay.stop();
  expect(vi.getTimerCount()).toBe(0);
});
