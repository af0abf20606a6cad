/**
 * Schedules for a flight table: which events there are, with which values, how often. Of one description fast-check makes
 * what it can shrink, and `drawSchedule` makes the same much faster. How one is flown is in `flight-flying.ts`.
 */

import fc from 'fast-check';

import type { Leg } from '../../src/coalesce/flight/flight.ts';
import type { Loss } from '../../src/coalesce/table/fleet/losing.ts';
import type { TableLimits } from '../../src/coalesce/table/board.ts';
import type { Options } from './flight-questions.ts';

/** What happens next. `pick` chooses among those that there are at that moment. */
export type Event =
  | {
      readonly kind: 'decide';
      readonly key: string;
      readonly tenant: string;
      readonly size: number;
      readonly slow: boolean;
    }
  | { readonly kind: 'redeem'; readonly pick: number; readonly stolen: boolean }
  | { readonly kind: 'redeemAgain' | 'leave' | 'break' | 'pull' | 'answerByEnvoy'; readonly pick: number }
  | {
      readonly kind: 'begin';
      readonly pick: number;
      readonly length: number | null;
      readonly endOfStream: boolean;
      readonly status: string;
      readonly events: boolean;
    }
  | { readonly kind: 'raise'; readonly lift: boolean }
  | { readonly kind: 'grow'; readonly pick: number; readonly size: number }
  | { readonly kind: 'end'; readonly pick: number; readonly trailers: boolean }
  | { readonly kind: 'pass'; readonly ms: number; readonly late: boolean }
  | { readonly kind: 'breakOffAll' }
  | { readonly kind: 'answerClaim'; readonly pick: number; readonly answer: 'led' | 'followed' | 'stoodAlone' }
  | { readonly kind: 'lose'; readonly pick: number; readonly why: Loss }
  | { readonly kind: 'grantSlot'; readonly pick: number }
  | { readonly kind: 'watch'; readonly pick: number; readonly isWatched: boolean };

export interface Schedule {
  readonly leg: Leg;
  /** Whether there are other instances. */
  readonly sharesFlights: boolean;
  readonly limits: TableLimits;
  readonly options: Options;
  readonly events: readonly Event[];
  /** In the end everybody leaves, or stays and ends all the same. */
  readonly leave: boolean;
}

/** Some values, each as likely as the others, or the whole numbers of a range. */
type Domain<Value> = readonly Value[] | { readonly min: Value & number; readonly max: Value & number };
type Domains<Of> = { readonly [Name in keyof Of]: Domain<Of[Name]> };
type Fields<Kind extends Event['kind'], Any = Event> = Any extends { readonly kind: infer Kinds }
  ? Kind extends Kinds
    ? Omit<Any, 'kind'>
    : never
  : never;

const pick = { min: 0, max: 1_000 };
const size = { min: 1, max: 30 };
const either = [false, true];
const oftenFalse = [false, false, false, true];
const longest = 120;

const events: { readonly [Kind in Event['kind']]: { weight: number; fields: Domains<Fields<Kind>> } } = {
  decide: { weight: 24, fields: { key: ['p', 'p', 'q', 'r'], tenant: ['a', 'a', 'b'], size, slow: either } },
  redeem: { weight: 32, fields: { pick, stolen: oftenFalse } },
  redeemAgain: { weight: 3, fields: { pick } },
  leave: { weight: 7, fields: { pick } },
  begin: {
    weight: 20,
    fields: {
      pick,
      length: [null, null, 0, 40],
      endOfStream: oftenFalse,
      status: ['200', '200', '400', '503'],
      events: either,
    },
  },
  answerByEnvoy: { weight: 3, fields: { pick } },
  raise: { weight: 2, fields: { lift: oftenFalse } },
  grow: { weight: 30, fields: { pick, size } },
  end: { weight: 7, fields: { pick, trailers: either } },
  break: { weight: 5, fields: { pick } },
  pull: { weight: 12, fields: { pick } },
  pass: { weight: 14, fields: { ms: [1, 20, 300, 300, 1_500, 1_500, 4_000, 60_000], late: oftenFalse } },
  breakOffAll: { weight: 2, fields: {} },
  answerClaim: { weight: 30, fields: { pick, answer: ['led', 'led', 'followed', 'followed', 'stoodAlone'] } },
  lose: { weight: 5, fields: { pick, why: ['lease_lost', 'gave_up', 'cut', 'unreadable', 'redis_down'] } },
  grantSlot: { weight: 12, fields: { pick } },
  watch: { weight: 5, fields: { pick, isWatched: either } },
};
/** Of other instances. */
const fleetKinds: ReadonlySet<string> = new Set<Event['kind']>(['answerClaim', 'lose', 'grantSlot', 'watch']);

const limits: Domains<Omit<TableLimits, 'admission'>> = {
  maxWaitersTotal: [8, 10_000],
  maxGenerations: [1, 2, 4],
  maxFlights: [3, 10_000],
  maxReplayBytes: [50, 10_000],
  maxReplayBytesTotal: [90, 10_000],
  maxRequestBytesTotal: [60, 10_000],
  ticketTtlMs: [500, 10_000],
  releaseRate: [2, 50],
  maxPromotions: [0, 1, 3],
  orphanGraceMs: [0, 2_000],
};
const admission: Domains<Required<TableLimits['admission']>> = {
  maxUpstream: [0, 0, 1, 1, 2],
  maxQueue: [0, 1, 2, 2, 5],
  maxWaitMs: [1_000, 30_000],
  scope: ['process', 'fleet'],
};
const options: Domains<Options> = { retries: either, negativeCache: either, keepAlive: either };
const rest: Domains<Pick<Schedule, 'leg' | 'sharesFlights' | 'leave'>> = {
  leg: ['attached', 'detached'],
  sharesFlights: either,
  leave: either,
};

function arbitraries(domains: object): Record<string, fc.Arbitrary<unknown>> {
  const entries = Object.entries(domains as Record<string, Domain<unknown>>);
  return Object.fromEntries(
    entries.map(([name, domain]) => [
      name,
      Array.isArray(domain) ? fc.constantFrom(...domain) : fc.integer(domain as { min: number; max: number }),
    ]),
  );
}

const record = (model: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> =>
  fc.record(model, { noNullPrototype: true });

export const scheduleArbitrary: fc.Arbitrary<Schedule> = record({
  ...arbitraries(rest),
  limits: record({ ...arbitraries(limits), admission: record(arbitraries(admission)) }),
  options: record(arbitraries(options)),
  events: fc.array(
    fc.oneof(
      ...Object.entries(events).map(([kind, { weight, fields }]) => ({
        weight,
        arbitrary: record({ kind: fc.constant(kind), ...arbitraries(fields) }),
      })),
    ),
    { minLength: 1, maxLength: longest, size: 'max' },
  ),
}) as fc.Arbitrary<Schedule>;

/** Yields a number from 0 up to, not including, 1. */
type Random = () => number;

interface Drawn {
  readonly kind: string;
  readonly fields: readonly (readonly [string, Domain<unknown>])[];
}

/** Each kind as often as it weighs. */
const deal: readonly Drawn[] = Object.entries(events).flatMap(([kind, { weight, fields }]) =>
  Array.from({ length: weight }, () => ({ kind, fields: Object.entries(fields) })),
);
const dealWithoutFleet: readonly Drawn[] = deal.filter(({ kind }) => !fleetKinds.has(kind));

/** The same as `scheduleArbitrary` makes, without bias. */
export function drawSchedule(random: Random): Schedule {
  const drawn = drawEach(rest, random);
  const from = drawn['sharesFlights'] === true ? deal : dealWithoutFleet;
  const drawnEvents: unknown[] = [];
  for (let left = 1 + Math.floor(random() * longest); left > 0; left -= 1) drawnEvents.push(drawEvent(from, random));
  return {
    ...drawn,
    limits: { ...drawEach(limits, random), admission: drawEach(admission, random) },
    options: drawEach(options, random),
    events: drawnEvents,
  } as unknown as Schedule;
}

function drawEvent(from: readonly Drawn[], random: Random): unknown {
  const { kind, fields } = one(from, random);
  const event: Record<string, unknown> = { kind };
  for (const [name, domain] of fields) event[name] = draw(domain, random);
  return event;
}

function drawEach(domains: object, random: Random): Record<string, unknown> {
  const drawn: Record<string, unknown> = {};
  for (const [name, domain] of Object.entries(domains)) drawn[name] = draw(domain as Domain<unknown>, random);
  return drawn;
}

function draw(domain: Domain<unknown>, random: Random): unknown {
  if (!('min' in domain)) return one(domain, random);
  const { min, max } = domain as { min: number; max: number };
  return min + Math.floor(random() * (max - min + 1));
}

function one<Item>(items: readonly Item[], random: Random): Item {
  return items[Math.floor(random() * items.length)] as Item;
}
