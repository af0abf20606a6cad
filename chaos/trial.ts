/**
 * One leg under the storm for a while: opens the site, runs load and storm, judges every request, and looks at the end whether
 * anything is left over and whether the service shares again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Random, randomFrom } from '../harness/fuzz/mutate.ts';
import { send } from '../harness/http-client.ts';
import type { Leg } from '../harness/stack/envoy-config.ts';
import { requestFor } from './answers.ts';
import { runLoad } from './callers.ts';
import { type Asked, judge, type Evidence, type Verdict, type VerdictKind, verdictKinds } from './judge.ts';
import { OutageLog } from './outages.ts';
import { offenceReport } from './offence.ts';
import { leaseMs, openSite, type Site } from './site.ts';
import { raise } from './storm.ts';
import { Upstream } from './upstream.ts';

/** What a trial came to. */
export type Outcome = {
  readonly leg: Leg;
  readonly verdicts: Readonly<Record<VerdictKind, number>>;
  readonly requests: number;
  readonly upstreamCalls: number;
  readonly outages: OutageLog;
  /** Things that were not as they should be after the storm. */
  readonly remains: number;
  /** What must not be, each with its log. */
  readonly offences: readonly string[];
};

const offenceKinds: ReadonlySet<VerdictKind> = new Set<VerdictKind>(['wrong', 'hung', 'failed']);
/** More of them tell nothing new. */
const reportLimit = 5;

export async function runTrial(options: {
  leg: Leg;
  /** Whether two instances share their flights. */
  redis: boolean;
  seed: number;
  lengthMs: number;
  signal: AbortSignal;
}): Promise<Outcome> {
  // Each has its own chances, so that what one draws does not depend on when another comes.
  const [upstream, random, winds] = [1, 2, 3].map((part) => randomFrom(options.seed * 7919 + part)) as [
    Random,
    Random,
    Random,
  ];
  const trial = new Trial(options, new Upstream(upstream));
  const site = await openSite(options.leg, trial.upstream, options.redis);
  try {
    await trial.run(site, { ...options, random, winds });
    return trial.outcome(site);
  } finally {
    await site.close();
  }
}

class Trial {
  readonly upstream: Upstream;
  readonly #leg: Leg;
  readonly #log = new OutageLog();
  readonly #leftAt: Map<string, number> = new Map();
  readonly #verdicts = Object.fromEntries(verdictKinds.map((kind) => [kind, 0])) as Record<VerdictKind, number>;
  readonly #offenders: { asked: Asked; verdict: Verdict }[] = [];
  readonly #remains: string[] = [];
  readonly #reports: string[] = [];
  readonly #evidence: Evidence;

  constructor({ leg, redis }: { leg: Leg; redis: boolean }, upstream: Upstream) {
    this.#leg = leg;
    this.upstream = upstream;
    this.#evidence = {
      leg,
      records: upstream.records,
      outages: this.#log.all,
      leaseMs: redis ? leaseMs : 0,
      leftAtMs: (requestId) => this.#leftAt.get(requestId),
    };
  }

  async run(
    site: Site,
    options: { lengthMs: number; signal: AbortSignal; random: Random; winds: Random },
  ): Promise<void> {
    const over = new AbortController();
    const storm = raise(site, { log: this.#log, random: options.winds, signal: over.signal });
    const load = {
      urls: site.fleet === null ? [site.url] : [site.url, site.fleet.peer.url],
      random: options.random,
      onOver: (asked: Asked) => this.#judge(asked),
      onLeft: (requestId: string) => void this.#leftAt.set(requestId, performance.now()),
    };
    const clock = delay(options.lengthMs, undefined, { signal: options.signal }).catch(() => undefined);
    // A storm that fails ends the trial; the load ends with it, and the failure is thrown below.
    const stormFailed = storm.over.catch(() => undefined);
    void Promise.race([clock, stormFailed]).then(() => over.abort());
    await runLoad(load, over.signal);
    await storm.over;
    await this.#lookAround(site);
    for (const offender of this.#offenders.slice(0, reportLimit)) {
      this.#reports.push(await offenceReport(offender, this.#evidence, site));
    }
  }

  outcome(site: Site): Outcome {
    return {
      leg: this.#leg,
      verdicts: this.#verdicts,
      requests: Object.values(this.#verdicts).reduce((sum, count) => sum + count, 0),
      upstreamCalls: site.mock.callCount(),
      outages: this.#log,
      remains: this.#remains.length,
      offences: [...this.#remains, ...this.#reports],
    };
  }

  #judge(asked: Asked): Verdict {
    const verdict = judge(asked, this.#evidence);
    this.#verdicts[verdict.kind] += 1;
    if (offenceKinds.has(verdict.kind)) this.#offenders.push({ asked, verdict });
    return verdict;
  }

  /** After the storm: nothing is held, no process ended but by our hand, no bug was logged, and equal calls share again. */
  async #lookAround(site: Site): Promise<void> {
    for (const { processor } of site.fleet === null ? [site] : [site, site.fleet.peer]) {
      const held = await heldAfter(processor, 10_000);
      if (held.length > 0) this.#remains.push(`left over in a processor: ${held.join(', ')}`);
    }
    const lines = await site.processor.log();
    const starts = lines.filter(({ event }) => event === 'listening').length;
    const expected = 1 + this.#log.count('processor', 'kill') + this.#log.count('processor', 'drain');
    if (starts !== expected) this.#remains.push(`the processor started ${starts} times, not ${expected}`);
    const errors = lines.filter(({ event }) => event === 'internal_error');
    if (errors.length > 0) this.#remains.push(`the processor logged: ${JSON.stringify(errors.slice(0, 3))}`);
    await this.#expectSharing(site);
  }

  async #expectSharing(site: Site): Promise<void> {
    // The upstream may draw a fault, which is no news: one burst of several has to be shared.
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      const question = { prompt: `after the storm ${attempt}`, tenant: 't', api: 'openai', stream: true } as const;
      const calls = site.mock.callCount();
      const request = { url: site.url, ...requestFor(question) };
      const exchanges = await Promise.all(Array.from({ length: 5 }, () => send(request)));
      if (site.mock.callCount() - calls === 1 && exchanges.every(({ status }) => status === 200)) return;
    }
    this.#remains.push('after the storm equal calls are not shared');
  }
}

const gauges = ['flights', 'waiters', 'replay_bytes', 'queue', 'streams'];

/** The gauges that are not back at 0 after so long. */
async function heldAfter(processor: Site['processor'], limitMs: number): Promise<string[]> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const samples = await processor.metrics();
    const held = gauges.filter((name) => samples.get(`coalesce_${name}`) !== 0);
    if (held.length === 0 || performance.now() > deadline) {
      return held.map((name) => `${name} ${samples.get(`coalesce_${name}`) ?? 'missing'}`);
    }
    await delay(50);
  }
}
