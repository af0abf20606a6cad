/** Whose turn it is in the queue for the upstream, and what one who is turned away is told. */

import { describe, expect, test } from 'vitest';

import type { FlightId } from '../../src/coalesce/flight/flight.ts';
import { WaitEstimate } from '../../src/coalesce/table/admission/wait-estimate.ts';
import { FlightDeck, keyNamed, nothingHeld, tenantNamed } from '../support/flight-deck.ts';
import { samplePolicy } from '../support/request-samples.ts';

/** `max_upstream` calls of a tenant that is called `busy` run. */
function fullDeck(maxUpstream: number, limits: { maxQueue?: number; maxGenerations?: number } = {}) {
  const { maxQueue = 10_000, maxGenerations = 4 } = limits;
  const admission = { maxUpstream, maxQueue, maxWaitMs: 30_000 };
  const deck = new FlightDeck('detached', { maxGenerations, admission });
  const running: FlightId[] = [];
  for (let index = 0; index < maxUpstream; index += 1) running.push(board(deck, 'busy', `${index}`).flight);
  deck.commands();
  /** The longest call ends; which flights start then. */
  const free = (): FlightId[] => {
    const [flight] = running.splice(0, 1);
    if (flight === undefined) throw new Error('no call runs');
    deck.broke(flight);
    const started = deck.commands().flatMap((command) => (command.kind === 'startCall' ? [command.flight] : []));
    deck.facts();
    running.push(...started);
    return started;
  };
  return { deck, free };
}

function board(deck: FlightDeck, tenant: string, key: string) {
  const aboard = deck.board({ tenant: tenantNamed(tenant), key: keyNamed(`${tenant}-${key}-`) });
  deck.facts();
  return aboard;
}

describe('turns', () => {
  test('a tenant queues 1,000 keys, then another one: that one starts within the next two free slots', () => {
    const { deck, free } = fullDeck(2);
    for (let index = 0; index < 1_000; index += 1) board(deck, 'a', `${index}`);
    const { flight } = board(deck, 'b', 'only');
    expect([...free(), ...free()]).toContain(flight);
  });

  test('the same with a queue that the first tenant has filled: its newest gives up its place', () => {
    const { deck, free } = fullDeck(2, { maxQueue: 1_000 });
    const of = Array.from({ length: 1_000 }, (_, index) => board(deck, 'a', `${index}`));
    const { flight } = board(deck, 'b', 'only');
    expect(deck.table.totals.queue).toBe(1_000);
    expect(deck.commands()).toMatchObject([
      { kind: 'refuse', exchange: of[999]?.exchange, answer: { status: 429, reason: 'queue_full' } },
    ]);
    expect([...free(), ...free()]).toContain(flight);
  });

  test('three tenants take turns, whatever each has in the queue', () => {
    const { deck, free } = fullDeck(1);
    const names = new Map<FlightId, string>();
    for (const [tenant, count] of [
      ['a', 5],
      ['b', 2],
      ['c', 1],
    ] as const)
      // prettier-ignore
      for (let index = 0; index < count; index += 1) names.set(board(deck, tenant, `${index}`).flight, tenant);
    const order = Array.from({ length: 8 }, () =>
      free()
        .map((flight) => names.get(flight))
        .join(),
    );
    expect(order.join('')).toBe('abcabaaa');
  });

  test('within a tenant keys take turns: generations of one key stand in line as one', () => {
    const { deck, free } = fullDeck(1);
    const policy = samplePolicy({ maxWaiters: 1 });
    const names = new Map<FlightId, string>();
    for (const key of ['x', 'x', 'x', 'y', 'z']) {
      const aboard = [1, 2].map(() => deck.board({ tenant: tenantNamed('a'), key: keyNamed(key), policy }));
      names.set(aboard[0]?.flight ?? ('' as FlightId), key);
    }
    const order = Array.from({ length: 5 }, () =>
      free()
        .map((flight) => names.get(flight))
        .join(),
    );
    expect(order.join('')).toBe('xyzxx');
  });

  test('a key that has as many calls as generations is passed over until one of them ends', () => {
    const limits = { maxGenerations: 1, admission: { maxUpstream: 2, maxQueue: 10, maxWaitMs: 30_000 } };
    const own = new FlightDeck('detached', limits);
    const policy = samplePolicy({ maxWaiters: 1 });
    const first = own.board({ policy });
    own.board({ policy });
    const second = own.board({ policy });
    own.board({ policy });
    expect(own.phases()).toEqual(['calling', 'queued']);
    own.board({ policy, key: keyNamed('other') });
    expect(own.phases()).toEqual(['calling', 'queued', 'calling']);
    own.commands();
    own.broke(first.flight);
    expect(own.commands()).toContainEqual(expect.objectContaining({ kind: 'startCall', flight: second.flight }));
  });

  test('attached: a caller beyond max_generations waits in the queue, and goes alone where nothing is limited', () => {
    const policy = samplePolicy({ maxWaiters: 1 });
    const admission = { maxUpstream: 5, maxQueue: 10, maxWaitMs: 30_000 };
    const limited = new FlightDeck('attached', { maxGenerations: 1, admission });
    limited.lead({ policy });
    limited.board({ policy });
    expect(limited.board({ policy }).role).toBe('leader');
    expect(limited.table.totals.queue).toBe(1);
    const free = new FlightDeck('attached', { maxGenerations: 1 });
    free.lead({ policy });
    free.board({ policy });
    expect(free.arrive({ policy }).decision).toEqual({ kind: 'alone', reason: 'limit' });
  });

  test('followers take no slot and no place', () => {
    const { deck, free } = fullDeck(1, { maxQueue: 1 });
    const waiting = Array.from({ length: 20 }, () => board(deck, 'a', 'shared'));
    expect(deck.table.totals.queue).toBe(1);
    expect(free()).toEqual([waiting[0]?.flight]);
  });

  test('when all have left, nothing is remembered', () => {
    const { deck, free } = fullDeck(1);
    const aboard = ['a', 'b', 'a'].map((tenant, index) => board(deck, tenant, `${index}`));
    for (const { exchange } of aboard) deck.leave(exchange);
    free();
    expect(deck.table.totals).toEqual(nothingHeld);
  });

  test('flights by the thousand pass, round after round', () => {
    const { deck, free } = fullDeck(1, { maxQueue: 50_000 });
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < 1_500; index += 1) board(deck, `${round}${index % 7}`, `${index}`);
      for (let index = 0; index < 1_500; index += 1) expect(free()).toHaveLength(1);
    }
    expect(deck.table.totals.queue).toBe(0);
  });
});

describe('a full queue', () => {
  test('takes another flight of no tenant that has its share', () => {
    const { deck } = fullDeck(1, { maxQueue: 4 });
    for (const key of ['1', '2']) board(deck, 'a', key);
    for (const key of ['1', '2']) board(deck, 'b', key);
    const shed = (tenant: string): string => {
      const { decision } = deck.arrive({ tenant: tenantNamed(tenant), key: keyNamed(`${tenant}-more`) });
      return decision.kind;
    };
    expect([shed('a'), shed('b'), shed('c')]).toEqual(['shed', 'shed', 'board']);
  });

  test('the tenant that has the most gives way, with all who wait for that flight', () => {
    const { deck } = fullDeck(1, { maxQueue: 4 });
    for (const key of ['1', '2']) board(deck, 'a', key);
    const [gone, follower] = [board(deck, 'a', '3'), board(deck, 'a', '3')];
    board(deck, 'b', '1');
    deck.commands();
    deck.facts();
    board(deck, 'b', '2');
    expect(deck.commands()).toMatchObject([gone, follower].map(({ exchange }) => ({ kind: 'refuse', exchange })));
    expect(deck.table.totals.queue).toBe(4);
  });
});

test('a flight tells how long it waited, over all its times in the queue and up to its end', () => {
  const deck = new FlightDeck('detached', { admission: { maxUpstream: 1, maxQueue: 2, maxWaitMs: 30_000 } });
  const busy = deck.board({ key: keyNamed('busy') });
  const [first, second] = ['1', '2'].map((name) => deck.board({ key: keyNamed(name) }));
  deck.facts();
  deck.pass(400);
  deck.broke(busy.flight);
  deck.pass(300);
  if (first === undefined || second === undefined) throw new Error('nobody waits');
  deck.broke(first.flight);
  deck.broke(second.flight);
  const waited = deck.facts().flatMap((fact) => (fact.kind === 'flightEnded' ? [fact.report.queuedMs] : []));
  expect(waited).toEqual([0, 400, 700]);
});

describe('retry-after', () => {
  test('is one second where nothing is known', () => {
    expect(new WaitEstimate().seconds(500, 0)).toBe(1);
  });

  test('is the queue’s length at its pace, at most a minute', () => {
    const estimate = new WaitEstimate();
    estimate.began(0);
    for (const at of [500, 1_000, 1_500, 2_000]) estimate.moved(at);
    expect([0, 1, 9, 100, 1_000].map((length) => estimate.seconds(length, 2_000))).toEqual([1, 1, 5, 51, 60]);
  });

  test('a queue that stands still counts by how long it has', () => {
    const estimate = new WaitEstimate();
    estimate.began(0);
    expect(estimate.seconds(1, 10_000)).toBe(20);
  });

  test('time in which nobody waited does not count', () => {
    const estimate = new WaitEstimate();
    estimate.began(0);
    estimate.moved(1_000);
    estimate.emptied();
    expect(estimate.seconds(0, 100_000)).toBe(1);
    estimate.began(100_000);
    expect(estimate.seconds(2, 100_000)).toBe(3);
  });

  test('goes into the refusal of one who waited for max_wait', () => {
    const { deck, free } = fullDeck(1);
    for (const key of ['1', '2', '3', '4']) board(deck, 'a', key);
    deck.pass(10_000);
    free();
    deck.pass(10_000);
    free();
    deck.commands();
    deck.pass(10_000);
    const [refusal] = deck.commands();
    expect(refusal).toMatchObject({ kind: 'refuse', answer: { reason: 'max_wait', retryAfterSeconds: 20 } });
  });
});
