/**
 * The bench's traffic: a client and an upstream, each in a process of its own. They are Go's where there is Go, whose client
 * costs a fraction of the CPU that it measures; else Node's.
 */
import type { Order, Outcome } from '../client/orders.ts';

export type Traffic = {
  readonly upstreamPort: number;
  /** Which client this is: Node's knows no open loop, and counts reads where Go's counts tokens. */
  readonly client: 'Go' | 'Node';
  readonly carryOut: (order: Order) => Promise<Outcome>;
  /** That client and upstream have used so far. */
  readonly cpuSeconds: () => Promise<number>;
  readonly end: () => Promise<void>;
};
