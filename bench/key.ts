/**
 * What it costs to read a chat body, write its canonical form and digest it, against `JSON.parse` + `JSON.stringify` +
 * SHA-256 of the same bytes. A ratio of 1 means as fast; 0.5 is the least that the key may have.
 */

import { createHash } from 'node:crypto';
import process from 'node:process';
import { digest } from '../src/coalesce/key/digest.ts';
import { canonicalBody } from '../src/coalesce/key/canonical-body.ts';
import { readBody, streamModeOf } from '../src/coalesce/key/request-body.ts';
import { openaiChat } from '../src/coalesce/profiles/openai/chat.ts';

const ROUNDS = 7;
const ROUND_MS = 60;
const secret = Buffer.alloc(32, 7);

const sizes = [
  ['4 kB', 4_000],
  ['100 kB', 100_000],
  ['1 MB', 1_000_000],
] as const;

/** Kinds of bodies: how long the text of a message is, and what is in it. */
const bodies = [
  ['long messages', 2_000, 'The quick brown fox jumps over the lazy dog. '],
  ['with line ends and quotes', 2_000, 'if (a == "b") {\n  return "c";\n}\n'],
  ['in Japanese', 2_000, '吾輩は猫である。名前はまだ無い。'],
  ['short messages', 60, 'What is the capital of France, and why? '],
  ['tiny messages', 20, 'Go on, please. '],
] as const;

/** How a kind of body of a size fared. */
export type KeySpeed = {
  readonly size: string;
  readonly kind: string;
  readonly ratio: number;
  readonly mbPerSecond: number;
};

/** Measures all kinds in all sizes, in this process: some seconds. */
export function measureKeys(): readonly KeySpeed[] {
  for (const [, textChars, phrase] of bodies) warmUp(chatBody(4_000, textChars, phrase));
  return sizes.flatMap(([size, bytes]) =>
    bodies.map(([kind, textChars, phrase]) => {
      const body = chatBody(bytes, textChars, phrase);
      const { ours, theirs } = compare(body);
      return { size, kind, ratio: theirs / ours, mbPerSecond: body.length / ours / 1000 };
    }),
  );
}

const WARM_UP_RUNS = 2_000;

function warmUp(body: Buffer): void {
  for (let run = 0; run < WARM_UP_RUNS; run += 1) {
    digestOurs(body);
    digestTheirs(body);
  }
}

function chatBody(size: number, textChars: number, phrase: string): Buffer {
  const content = phrase.repeat(Math.ceil(textChars / phrase.length)).slice(0, textChars);
  const message = { role: 'user', content };
  const count = Math.max(1, Math.round(size / Buffer.byteLength(JSON.stringify(message))));
  const messages = Array.from({ length: count }, () => message);
  return Buffer.from(JSON.stringify({ model: 'gpt-4o-mini', messages, temperature: 0, stream: true }));
}

/** Best of interleaved rounds, in ms for one body. */
function compare(body: Buffer): { readonly ours: number; readonly theirs: number } {
  let [ours, theirs] = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours = Math.min(
      ours,
      timeOf(() => digestOurs(body)),
    );
    theirs = Math.min(
      theirs,
      timeOf(() => digestTheirs(body)),
    );
  }
  return { ours, theirs };
}

/** CPU time of one run, in ms: other programs on the machine do not count. */
function timeOf(run: () => void): number {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let runs = 0;
  do {
    run();
    runs += 1;
  } while (performance.now() - startedAt < ROUND_MS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / runs;
}

function digestOurs(bytes: Buffer): string {
  const body = readBody(bytes, openaiChat);
  const stream = body === null ? null : streamModeOf(body, openaiChat);
  if (body === null || stream === null) throw new Error('the body was not read');
  const canonical = canonicalBody(body, { profile: openaiChat, ignoreIdentity: false, stream });
  return digest(secret, { label: 'key', parts: [], bytes: canonical });
}

function digestTheirs(bytes: Buffer): string {
  return createHash('sha256')
    .update(JSON.stringify(JSON.parse(bytes.toString('utf8'))))
    .digest('hex');
}
