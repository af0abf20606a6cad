/**
 * A bug of the core, for a processor that is started with `--import` of this file: a flight whose policy has the telling
 * `idle` deadline breaks when that deadline is looked at, once.
 */
import { DeadlineQueue } from '../../dist/coalesce/flight/deadline-queue.js';

const TELLING_IDLE_MS = 777;

const takeDue = Reflect.get(DeadlineQueue.prototype, 'takeDue');

DeadlineQueue.prototype.takeDue = function takeBroken(now) {
  const due = Reflect.apply(takeDue, this, [now]);
  const policy = due?.policy;
  if (policy?.deadlines.idleMs === TELLING_IDLE_MS && due.state.phase === 'answering') {
    const breakOnce = () => {
      Object.defineProperty(due, 'policy', { value: policy });
      throw new Error('a bug, on purpose');
    };
    Object.defineProperty(due, 'policy', { get: breakOnce, configurable: true });
  }
  return due;
};
