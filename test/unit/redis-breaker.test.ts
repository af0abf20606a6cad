import { expect, test } from 'vitest';
import { FAILURES_IN_A_ROW, nextBreaker, unproven, type Breaker, type BreakerEvent } from '../../src/redis/breaker.ts';

const after = (...events: readonly BreakerEvent[]): Breaker['phase'] => events.reduce(nextBreaker, unproven).phase;
const failures = (count: number): BreakerEvent[] => Array.from({ length: count }, () => 'failed');

test('nothing is asked of a Redis that has not passed a trial', () => {
  expect(after()).toBe('open');
  expect(after('succeeded')).toBe('open');
  expect(after('trialPassed')).toBe('closed');
});

test('it opens after failures in a row, and not before', () => {
  expect(after('trialPassed', ...failures(FAILURES_IN_A_ROW - 1))).toBe('closed');
  expect(after('trialPassed', ...failures(FAILURES_IN_A_ROW))).toBe('open');
  const broken = [...failures(FAILURES_IN_A_ROW - 1), 'succeeded'] as const;
  expect(after('trialPassed', ...broken, ...broken)).toBe('closed');
});

test('a lost connection opens it at once, and only a trial closes it', () => {
  expect(after('trialPassed', 'disconnected')).toBe('open');
  expect(after('trialPassed', 'disconnected', 'succeeded')).toBe('open');
  expect(after('trialPassed', 'disconnected', 'trialPassed')).toBe('closed');
});
