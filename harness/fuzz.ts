/**
 * A fuzzer of the reader, of eligibility and of the key: changed requests of the corpus must neither throw nor take long,
 * and what is read must be what JSON.parse reads. Run: `npm run fuzz -- [seconds] [seed]`; ends with 1 at the first fault.
 */

import { Buffer } from 'node:buffer';
import process from 'node:process';
import { readJson } from '../src/coalesce/key/json/reader.ts';
import { judge, screen } from '../src/coalesce/request/eligibility.ts';
import type { HeaderList, RequestHead } from '../src/coalesce/request/head.ts';
import type { Policy } from '../src/coalesce/request/policy.ts';
import { mutate, pick, randomFrom, type Random } from './fuzz/mutate.ts';
import { readSeeds, type Seed } from './fuzz/seeds.ts';

const DEFAULT_SECONDS = 60;
const SLOWEST_MS = 1_000;
/** Clock and time limit are looked at once for this many executions. */
const BATCH = 100;

const secret = Buffer.alloc(32, 7);
const maxRequestBytes = 8 * 1024 * 1024;

const policy: Policy = {
  epoch: 'fuzz',
  name: 'fuzz',
  mode: 'enforce',
  tenant: {
    from: [{ kind: 'sigv4' }, { kind: 'header', name: 'authorization' }, { kind: 'query', name: 'key' }],
    anonymous: 'share',
  },
  sampling: 'any',
  tools: 'allow',
  identity: 'ignore',
  key: {
    include: [],
    ignoreHeaders: [],
    ignoreBody: ['/seed', '/messages/*/name'],
    normalize: { collapseWhitespace: true, stripTimestamps: true, stripNonces: [] },
  },
  rollout: 100,
  shadow: { compare: 0, maxBytes: 1 },
  maxWaiters: 32,
  lateJoin: { maxEvents: 1, maxBytes: 1, maxAgeMs: 1 },
  deadlines: { firstByteMs: 1, idleMs: 1, totalMs: 1, waitMs: 1, keepAliveMs: 0 },
  retry: { maxAttempts: 1, on: [], backoffMs: 1 },
  negativeCache: { ttlMs: 0, statuses: [], maxEntries: 0 },
};
/** As the default is: nothing is taken out of the key. */
const plainPolicy: Policy = {
  ...policy,
  key: {
    ...policy.key,
    ignoreBody: [],
    normalize: { collapseWhitespace: false, stripTimestamps: false, stripNonces: [] },
  },
};

main();

function main(): void {
  const seconds = Number(process.argv[2] ?? DEFAULT_SECONDS);
  const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
  if (!(seconds > 0) || !Number.isInteger(seed)) {
    console.error('usage: fuzz [seconds] [seed]');
    process.exitCode = 64;
    return;
  }
  console.log(`fuzz: ${seconds} s, seed ${seed}`);
  const { executions, eligible, slowestMs } = fuzz(seconds * 1_000, seed);
  console.log(`fuzz: ${executions} executions, ${eligible} eligible, slowest ${slowestMs.toFixed(1)} ms, no fault`);
}

interface Tally {
  executions: number;
  eligible: number;
  slowestMs: number;
}

function fuzz(limitMs: number, seed: number): Tally {
  const random = randomFrom(seed);
  const seeds = readSeeds();
  const tally: Tally = { executions: 0, eligible: 0, slowestMs: 0 };
  const startedAt = performance.now();
  while (performance.now() - startedAt < limitMs) {
    for (let left = BATCH; left > 0; left -= 1) execute(pick(seeds, random), { seeds, random, tally });
  }
  return tally;
}

interface Context {
  readonly seeds: readonly Seed[];
  readonly random: Random;
  readonly tally: Tally;
}

/** Prints what it did where that fails, so that the request can become a test. */
function execute(seed: Seed, { seeds, random, tally }: Context): void {
  const body = mutate(seed.body, pick(seeds, random).body, random);
  const head = headOf(seed, pick(seeds, random), random);
  const startedAt = performance.now();
  try {
    const key = keyOf(head, body, random() < 0.5 ? policy : plainPolicy);
    if (key !== null) tally.eligible += 1;
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs > SLOWEST_MS) throw new Error(`took ${elapsedMs.toFixed(0)} ms`);
    tally.slowestMs = Math.max(tally.slowestMs, elapsedMs);
    checkReading(body);
    if (key !== null) checkKey(head, body);
  } catch (fault) {
    console.error(JSON.stringify({ from: seed.name, head, body_base64: body.toString('base64') }));
    throw fault;
  }
  tally.executions += 1;
}

function keyOf(head: RequestHead, body: Buffer, by: Policy): string | null {
  const screening = screen(head, { policy: by, maxRequestBytes });
  if (screening.kind === 'bypass') return null;
  const verdict = judge({ head, body, fleet: null, profile: screening.profile }, { policy: by, secret });
  return verdict.kind === 'eligible' ? verdict.key : null;
}

/** What is read is JSON to others too. */
function checkReading(body: Buffer): void {
  if (readJson(body).kind === 'document') JSON.parse(body.toString('utf8'));
}

/** Whitespace is noise, one more member is not. */
function checkKey(head: RequestHead, body: Buffer): void {
  const key = keyOf(head, body, plainPolicy);
  const spaced = Buffer.concat([Buffer.from(' \n'), body, Buffer.from('\t')]);
  if (keyOf(head, spaced, plainPolicy) !== key) throw new Error('whitespace changes the key');
  const text = body.toString('utf8').trimStart();
  const more = Buffer.from(text.replace('{', /^\{\s*\}/.test(text) ? '{"\\u0001 more":0' : '{"\\u0001 more":0,'));
  if (keyOf(head, more, plainPolicy) === key) throw new Error('one more member does not change the key');
}

function headOf(seed: Seed, other: Seed, random: Random): RequestHead {
  const from = random() < 0.1 ? other : seed;
  const headers: HeaderList = random() < 0.1 ? [...seed.headers, ...other.headers] : seed.headers;
  return {
    method: seed.method,
    authority: 'llm.example.com',
    path:
      random() < 0.05 ? mutate(Buffer.from(from.path), Buffer.from(other.path), random).toString('latin1') : from.path,
    headers: headers.map(([name, value]) => [name, random() < 0.01 ? value.slice(1) : value]),
    bodyFollows: true,
    routeName: null,
    clusterName: null,
    metadata: () => undefined,
    attribute: () => undefined,
  };
}
