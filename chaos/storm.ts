/**
 * What happens to the processes: one hand for each of them, that waits, kills, stops or restarts, and sees to it that the
 * process serves again. It logs what it does before it does it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { pick, type Random } from '../harness/fuzz/mutate.ts';
import { type Act, end, type OutageLog, type Target } from './outages.ts';
import type { RedisServer } from '../harness/redis.ts';
import type { RestartableEnvoy, Site } from './site.ts';

export type Storm = {
  /** Resolves when every process serves again; rejects where one could not be started or ended by itself. */
  readonly over: Promise<void>;
};

/** Begins it; it ends by itself when the signal says so. */
export function raise(site: Site, options: { log: OutageLog; random: Random; signal: AbortSignal }): Storm {
  const hands = [rage(processorHand(site), options), rage(envoyHand(site.envoy, 'Envoy'), options)];
  if (site.egress !== null) hands.push(rage(envoyHand(site.egress, 'egress'), options));
  if (site.fleet !== null) hands.push(rage(redisHand(site.fleet.redis), options));
  return { over: Promise.all(hands).then(() => undefined) };
}

/** What can be done to one process. */
type Hand = {
  readonly target: Target;
  readonly acts: readonly Act[];
  /** Between two acts. */
  readonly restMs: readonly [least: number, most: number];
  readonly longestStopMs: number;
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly signal: (signal: NodeJS.Signals) => void;
  readonly drain: () => Promise<void>;
  readonly reload: () => Promise<void>;
};

async function rage(hand: Hand, options: { log: OutageLog; random: Random; signal: AbortSignal }): Promise<void> {
  const { log, random, signal } = options;
  const between = (least: number, most: number): number => least + random() * (most - least);
  for (;;) {
    await rest(between(...hand.restMs), signal);
    if (signal.aborted) return;
    const act = pick(hand.acts, random);
    const lengthMs = act === 'stop' ? between(100, hand.longestStopMs) : between(0, 2_000);
    const outage = log.begin(hand.target, act);
    await perform(hand, act, () => rest(lengthMs, signal));
    end(outage);
  }
}

async function perform(hand: Hand, act: Act, pause: () => Promise<void>): Promise<void> {
  switch (act) {
    case 'kill':
      await hand.kill();
      await pause();
      return hand.start();
    case 'stop':
      hand.signal('SIGSTOP');
      await pause();
      return hand.signal('SIGCONT');
    case 'drain':
      await hand.drain();
      await pause();
      return hand.start();
    case 'reload':
      return hand.reload();
  }
}

/** A wait that the storm's end cuts short. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

function processorHand({ processor }: Site): Hand {
  const ended = async (signal: NodeJS.Signals): Promise<void> => {
    processor.kill(signal);
    await processor.exit;
  };
  const drain = async (): Promise<void> => {
    processor.kill('SIGTERM');
    const { code } = await processor.exit;
    if (code !== 0) throw new Error(`the processor's drain ended with ${code}`);
  };
  return {
    target: 'processor',
    acts: ['kill', 'kill', 'stop', 'stop', 'drain', 'reload'],
    restMs: [1_000, 6_000],
    longestStopMs: 6_000,
    kill: () => ended('SIGKILL'),
    start: () => processor.restart(),
    signal: (signal) => processor.kill(signal),
    drain,
    reload: () => processor.reload(processor.config),
  };
}

function envoyHand(envoy: RestartableEnvoy, target: 'Envoy' | 'egress'): Hand {
  const never = (): Promise<void> => Promise.reject(new Error(`${target} is not drained`));
  return {
    target,
    acts: ['kill', 'stop'],
    restMs: target === 'Envoy' ? [6_000, 16_000] : [2_000, 10_000],
    // On the egress less than the deadlines, which a stop must not use up.
    longestStopMs: target === 'Envoy' ? 6_000 : 2_500,
    kill: () => envoy.kill(),
    start: () => envoy.start(),
    signal: (signal) => envoy.signal(signal),
    drain: never,
    reload: never,
  };
}

/** What it held is gone when it comes again. */
function redisHand(redis: RedisServer): Hand {
  const never = (): Promise<void> => Promise.reject(new Error('Redis is not drained'));
  return {
    target: 'Redis',
    acts: ['kill', 'stop', 'stop'],
    restMs: [3_000, 10_000],
    longestStopMs: 4_000,
    kill: async () => {
      redis.kill('SIGKILL');
      await redis.exit;
    },
    start: () => redis.restart(),
    signal: (signal) => redis.kill(signal),
    drain: never,
    reload: never,
  };
}
