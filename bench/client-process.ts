/** The bench's client in a process of its own: it carries out one order after the other. */
import type { Order } from './client/orders.ts';
import { carryOut } from './client/workloads.ts';
import { serveParent } from './process/parent.ts';

serveParent<Order>(0, carryOut);
