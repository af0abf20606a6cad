/** The client and the upstream that run on Node, for machines without Go: the mock LLM, and undici. */
import type { Order, Outcome } from '../client/orders.ts';
import { cpuSecondsOf } from '../measure/cpu.ts';
import { startBenchProcess } from '../process/child.ts';
import type { Traffic } from './traffic.ts';

export async function startNodeTraffic(): Promise<Traffic> {
  const client = await startBenchProcess<Order, Outcome>('client-process.js');
  const upstream = await startBenchProcess<object, number>('upstream-process.js');
  return {
    upstreamPort: upstream.port,
    client: 'Node',
    carryOut: async (order) => {
      await upstream.ask({});
      const outcome = await client.ask(order);
      return { ...outcome, upstreamCalls: await upstream.ask({}) };
    },
    cpuSeconds: async () => (await cpuSecondsOf(client.pid)) + (await cpuSecondsOf(upstream.pid)),
    end: async () => {
      await Promise.all([client.end(), upstream.end()]);
    },
  };
}
