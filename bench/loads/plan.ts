/** Which loads are measured, and how large they are: the whole of it, or the short form. */
import type { Load } from './load.ts';
import { burstOf, crowdOf, gapsOf, largeOf, streamsOf, waitingOf } from './shared.ts';
import { bypassOf, decisionsOf, gainOf, mixedOf, oneConnectionOf, uniqueOf } from './single.ts';

/** Followers, for the plot of first bytes. */
export const crowdSizes = [1, 10, 50, 100, 400] as const;
/** Shares of duplicates, for the plot of the gain. */
export const duplicateShares = [0, 0.25, 0.5, 0.75, 0.9] as const;

export type Form = 'whole' | 'quick';

/** In the order of the report. Those that meet a processor of their own are measured behind the others of a round. */
export function loadsOf(form: Form): readonly Load[] {
  return form === 'whole' ? wholeLoads() : quickLoads();
}

function wholeLoads(): readonly Load[] {
  return [
    ...[bypassOf(2_000), uniqueOf(3_000), oneConnectionOf(1_500), mixedOf(3_000), decisionsOf(3_000)],
    ...[burstOf(200), burstOf(200, { start: 'cold' })],
    ...[burstOf(1000, { times: 2 }), burstOf(1000, { start: 'cold', times: 2 })],
    ...[burstOf(4000, { times: 2 }), burstOf(4000, { start: 'cold', times: 2 })],
    ...[streamsOf(4), gapsOf(500, 300), waitingOf(1000, 'warmed'), waitingOf(1000, 'cold')],
    ...[largeOf(1000, 'warmed'), largeOf(1000, 'cold')],
    ...crowdSizes.map(crowdOf),
    ...duplicateShares.map((share) => gainOf(1_500, share)),
  ];
}

function quickLoads(): readonly Load[] {
  return [
    ...[bypassOf(1_000), uniqueOf(1_500), oneConnectionOf(700), mixedOf(1_500), decisionsOf(1_500)],
    ...[burstOf(200), burstOf(200, { start: 'cold' }), burstOf(1000)],
    ...[streamsOf(2), gapsOf(500, 150)],
  ];
}

/** Enough to have every program's code compiled, which takes Node some thousand exchanges, and its connections made. */
export const warmUpLoads: readonly Load[] = [
  ...[bypassOf(2_000), uniqueOf(4_000), burstOf(100), streamsOf(2), mixedOf(4_000)],
];

/** What a processor has served whose memory is looked at: no crowd as large as the one that comes. */
export const memoryWarmUpLoads: readonly Load[] = [uniqueOf(4_000), burstOf(100)];
