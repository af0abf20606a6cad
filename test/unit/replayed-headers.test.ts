/**
 * Which headers of an answer go to followers, and which to the first caller of a detached flight.
 */

import { expect, it } from 'vitest';
import { endToEndHeaders, replayedHeaders } from '../../src/coalesce/flight/replayed-headers.ts';
import type { HeaderList } from '../../src/coalesce/request/head.ts';

const answer: HeaderList = [
  ['content-type', 'text/event-stream'],
  ['x-request-id', 'r1'],
  ['retry-after', '1'],
  ['retry-after-ms', '1000'],
  ['set-cookie', 'a=b'],
  ['set-cookie', 'c=d'],
  ['openai-organization', 'o'],
  ['x-ratelimit-remaining-requests', '9'],
  ['content-length', '10'],
  ['x-amzn-bedrock-input-token-count', '5'],
  ['x-amzn-bedrock-invocation-latency', '7'],
  ['x-envoy-upstream-service-time', '3'],
  ['connection', 'keep-alive, X-Hop'],
  ['keep-alive', 'timeout=5'],
  ['x-hop', '1'],
  ['transfer-encoding', 'chunked'],
  ['date', 'today'],
  ['location', '/elsewhere'],
  ['access-control-allow-origin', 'https://app.example'],
  ['x-accel-buffering', 'no'],
];

const namesOf = (headers: HeaderList): string[] => headers.map(([name]) => name);

it('a follower gets what describes the shared body, and nothing of the leader', () => {
  expect(namesOf(replayedHeaders(answer))).toEqual([
    'content-type',
    'retry-after',
    'retry-after-ms',
    'x-amzn-bedrock-input-token-count',
    'location',
    'access-control-allow-origin',
    'x-accel-buffering',
  ]);
});

it('the first caller gets all headers but those of the hop, of Envoy and the length', () => {
  expect(namesOf(endToEndHeaders(answer))).toEqual([
    'content-type',
    'x-request-id',
    'retry-after',
    'retry-after-ms',
    'set-cookie',
    'set-cookie',
    'openai-organization',
    'x-ratelimit-remaining-requests',
    'x-amzn-bedrock-input-token-count',
    'x-amzn-bedrock-invocation-latency',
    'date',
    'location',
    'access-control-allow-origin',
    'x-accel-buffering',
  ]);
});
