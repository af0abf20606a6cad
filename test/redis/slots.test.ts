/** `admission.scope: fleet`: upstream calls of all instances under one limit. */
import { expect, test } from 'vitest';
import { fleetOn, oneRedis, onEachRedis } from '../support/fleet-servers.ts';
import { aFlight, withRedis, type Instance } from '../support/fleet.ts';
import { until } from '../support/condition.ts';
import { wireTo } from '../support/wire-tap.ts';

const options = { leaseMs: 1_500, maxUpstream: 3 };

/** Flights that ask for a slot each; `granted` counts those that have one. */
function ask(instance: Instance, count: number): { flights: ReturnType<typeof aFlight>[]; granted: () => number } {
  const flights = Array.from({ length: count }, () => aFlight());
  for (const flight of flights) instance.takeSlot(flight);
  const granted = (): number => flights.filter((flight) => instance.told(flight).words.includes('granted')).length;
  return { flights, granted };
}

onEachRedis('slots of a fleet', (fleet) => {
  test('are never more than there are, and all get one in the end', async () => {
    const instances = await fleet.pair(options);
    const asked = instances.map((instance) => ({ instance, ...ask(instance, 10) }));
    const given = new Set<string>();
    const holding = (): string[] => {
      return asked.flatMap(({ instance, flights }) => {
        return flights.filter((flight) => instance.told(flight).words.includes('granted') && !given.has(flight));
      });
    };
    while (given.size < 20) {
      await until('a slot is held', () => holding().length > 0);
      expect(holding().length).toBeLessThanOrEqual(options.maxUpstream);
      const [flight] = holding();
      const owner = asked.find(({ flights }) => flights.some((candidate) => candidate === flight));
      const held = owner?.flights.find((candidate) => candidate === flight);
      if (owner === undefined || held === undefined) throw new Error('somebody holds it');
      given.add(held);
      owner.instance.giveSlotBack(held);
    }
  });

  test('are granted in the order of one instance', async () => {
    const instance = await fleet.add({ ...options, maxUpstream: 1 });
    const { flights } = ask(instance, 4);
    for (const [index, flight] of flights.entries()) {
      await instance.hears(flight, 'granted');
      for (const later of flights.slice(index + 1)) expect(instance.told(later).words).toEqual([]);
      instance.giveSlotBack(flight);
    }
  });

  test('are kept for as long as they are held, over many leases', async () => {
    const [one, other] = await fleet.pair({ leaseMs: 800, maxUpstream: 1 });
    const holder = ask(one, 1);
    await until('it is granted', () => holder.granted() === 1);
    const waiting = ask(other, 1);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(waiting.granted()).toBe(0);
    one.giveSlotBack(holder.flights[0] ?? aFlight());
    await until('the other has it', () => waiting.granted() === 1);
  });

  test('are not waited for by one that went', async () => {
    const [one, other] = await fleet.pair({ ...options, maxUpstream: 1 });
    const holder = ask(one, 1);
    await until('it is granted', () => holder.granted() === 1);
    const gone = ask(other, 1);
    const waiting = ask(other, 1);
    other.giveSlotBack(gone.flights[0] ?? aFlight());
    one.giveSlotBack(holder.flights[0] ?? aFlight());
    await until('the next has it', () => waiting.granted() === 1);
    expect(gone.granted()).toBe(0);
  });
});

withRedis('slots of a fleet that has trouble', () => {
  const fleet = fleetOn(() => oneRedis());

  test('come back when their holder dies', async () => {
    const wire = await wireTo(fleet.site.nodes[0]?.port ?? 0);
    const dying = await fleet.behind(wire, { ...options, maxUpstream: 1 });
    const other = await fleet.add({ ...options, maxUpstream: 1 });
    const holder = ask(dying, 1);
    await until('it is granted', () => holder.granted() === 1);
    const waiting = ask(other, 1);
    wire.cut();
    await until('the other has it', () => waiting.granted() === 1);
  });

  test('come back when their holder closes', async () => {
    const [one, other] = await fleet.pair({ leaseMs: 60_000, maxUpstream: 1 });
    const holder = ask(one, 1);
    await until('it is granted', () => holder.granted() === 1);
    const waiting = ask(other, 1);
    await one.close();
    await until('the other has it', () => waiting.granted() === 1);
  });

  test('are granted where Redis does not answer: the limit of the process is left', async () => {
    const wire = await wireTo(fleet.site.nodes[0]?.port ?? 0);
    const instance = await fleet.behind(wire, { ...options, maxUpstream: 1, budgetMs: 20 });
    const first = ask(instance, 1);
    await until('it is granted', () => first.granted() === 1);
    wire.stall();
    const others = ask(instance, 5);
    await until('all are granted', () => others.granted() === 5);
  });

  test('are counted again after Redis has lost its memory', async () => {
    const [one, other] = await fleet.pair({ leaseMs: 1_500, maxUpstream: 1 });
    const holder = ask(one, 1);
    await until('it is granted', () => holder.granted() === 1);
    await fleet.site.command('FLUSHALL');
    await until('it is counted', async () => (await fleet.site.command('ZCARD', 'test:v1:{slots}')) === 1);
    const waiting = ask(other, 1);
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    expect(waiting.granted()).toBe(0);
  });
});
