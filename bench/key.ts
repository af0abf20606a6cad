/**
 * What it costs to read a chat body, write its canonical form and digest it, against `JSON.parse` + `JSON.stringify` +
 * SHA-256 of the same bytes. A ratio of 1 means as fast; 0.5 is the least that the key may have for 100 kB.
 */

import { createHash, createHmac } from 'node:crypto';
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

main();

function main(): void {
  for (const [sizeName, size] of sizes) {
    for (const [kind, textChars, phrase] of bodies) {
      const body = chatBody(size, textChars, phrase);
      const { ours, theirs } = compare(body);
      const speed = (body.length / ours / 1000).toFixed(0);
      console.log(`${sizeName.padStart(6)} ${kind.padEnd(26)} ratio ${(theirs / ours).toFixed(2)}  ${speed} MB/s`);
    }
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

function timeOf(run: () => void): number {
  const startedAt = performance.now();
  let runs = 0;
  do {
    run();
    runs += 1;
  } while (performance.now() - startedAt < ROUND_MS);
  return (performance.now() - startedAt) / runs;
}

function digestOurs(bytes: Buffer): string {
  const body = readBody(bytes, openaiChat);
  const stream = body === null ? null : streamModeOf(body, openaiChat);
  if (body === null || stream === null) throw new Error('the body was not read');
  const canonical = canonicalBody(body, { profile: openaiChat, ignoreIdentity: false, stream });
  return createHmac('sha256', secret).update(canonical).digest('hex');
}

function digestTheirs(bytes: Buffer): string {
  return createHash('sha256')
    .update(JSON.stringify(JSON.parse(bytes.toString('utf8'))))
    .digest('hex');
}
