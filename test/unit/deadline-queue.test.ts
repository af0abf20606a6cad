import fc from 'fast-check';
import { expect, test } from 'vitest';

import { DeadlineQueue } from '../../src/coalesce/flight/deadline-queue.ts';

const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }] as const;

test('an empty queue has nothing due, ever', () => {
  const queue = new DeadlineQueue<object>();
  expect([queue.size, queue.nextAt, queue.takeDue(Infinity), queue.dueAt(a)]).toEqual([0, null, null, null]);
});

test('the earliest comes first, and none before its time', () => {
  const queue = new DeadlineQueue<object>();
  queue.set(a, 30);
  queue.set(b, 10);
  queue.set(c, 20);
  expect([queue.nextAt, queue.takeDue(9), queue.takeDue(10), queue.takeDue(20), queue.takeDue(20)]).toEqual([10, null, b, c, null]); // prettier-ignore
});

test('a subject has one place: setting it again moves it, to either side', () => {
  const queue = new DeadlineQueue<object>();
  queue.set(a, 10);
  queue.set(b, 20);
  queue.set(a, 30);
  expect([queue.size, queue.nextAt, queue.dueAt(a)]).toEqual([2, 20, 30]);
  queue.set(a, 5);
  expect([queue.size, queue.takeDue(100)]).toEqual([2, a]);
});

test('a subject that is removed is not held and never due; removing it again does nothing', () => {
  const queue = new DeadlineQueue<object>();
  queue.set(a, 10);
  queue.set(b, 20);
  queue.remove(a);
  queue.remove(a);
  expect([queue.size, queue.dueAt(a), queue.takeDue(100), queue.takeDue(100)]).toEqual([1, null, b, null]);
});

test('under any sequence of sets, removals and takings it does what a sorted list does', () => {
  const subjects = Array.from({ length: 12 }, (_, number) => ({ number }));
  const step = fc.record({
    kind: fc.constantFrom('set', 'set', 'remove', 'take'),
    subject: fc.constantFrom(...subjects),
    at: fc.nat({ max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const queue = new DeadlineQueue<object>();
      const list = new Map<object, number>();
      for (const { kind, subject, at } of steps) {
        if (kind === 'set') {
          queue.set(subject, at);
          list.set(subject, at);
        } else if (kind === 'remove') {
          queue.remove(subject);
          list.delete(subject);
        } else {
          const taken = queue.takeDue(at);
          const earliest = Math.min(...list.values());
          expect(taken === null ? Infinity : list.get(taken)).toBe(earliest <= at ? earliest : Infinity);
          if (taken !== null) list.delete(taken);
        }
        expect(queue.size).toBe(list.size);
        expect(queue.nextAt).toBe(list.size === 0 ? null : Math.min(...list.values()));
        for (const one of subjects) expect(queue.dueAt(one)).toBe(list.get(one) ?? null);
      }
    }),
    { numRuns: 300 },
  );
});
