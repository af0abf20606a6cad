/**
 * Which headers of the upstream's answer go to whom. A follower gets those that describe the shared body and no others:
 * the rest is about the leader, its quota or its hop. The first caller of a detached flight gets all that are end-to-end.
 */

import { headerValues, type HeaderList } from '../request/head.ts';

const cors = 'depends on the origin, which is in the key; without it a browser throws the answer away';

/** What followers get, each with the reason. */
const replayedNames: ReadonlyMap<string, string> = new Map([
  ['content-type', 'SDKs choose their parser by it'],
  ['content-encoding', 'the bytes cannot be read without it'],
  ['cache-control', 'describes the same body'],
  ['location', 'a shared redirect leads nowhere without it'],
  ['www-authenticate', 'a shared 401 says nothing without it'],
  ['allow', 'goes with a shared 405'],
  ['x-accel-buffering', 'keeps a proxy in front of Envoy from holding the stream back'],
  ['vary', 'tells caches behind Envoy what the answer depends on'],
  ['access-control-allow-origin', cors],
  ['access-control-allow-credentials', cors],
  ['access-control-expose-headers', cors],
  ['cross-origin-resource-policy', cors],
  ['retry-after', 'goes with a shared 429 or 503'],
  ['retry-after-ms', 'goes with a shared 429 or 503'],
  ['x-should-retry', 'tells SDKs what to do with a shared error'],
  ['openai-version', 'describes the same body'],
  ['x-amzn-bedrock-content-type', 'the type of the bytes within the events'],
  ['x-amzn-bedrock-performanceconfig-latency', 'describes how the same answer was made'],
  ['x-amzn-bedrock-service-tier', 'describes how the same answer was made'],
  ['x-amzn-bedrock-input-token-count', 'the only place where the usage is reported'],
  ['x-amzn-bedrock-output-token-count', 'the only place where the usage is reported'],
]);

/** Headers of one hop (RFC 9110, 7.6.1), beside those that `connection` names. */
const hopByHopNames: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The headers that a follower gets, in order; content-length is for the one who knows that the body is complete. */
export function replayedHeaders(headers: HeaderList): HeaderList {
  return headers.filter(([name]) => replayedNames.has(name));
}

/** The headers for the first caller of a detached flight, in order: all but those of one hop and what Envoy sets or refuses. */
export function endToEndHeaders(headers: HeaderList): HeaderList {
  const named = new Set(headerValues(headers, 'connection').flatMap((value) => value.split(',').map(normalise)));
  return headers.filter(([name]) => !hopByHopNames.has(name) && !named.has(name) && !isEnvoys(name));
}

/** Envoy rejects a mutation of its own headers, and sets the length itself. */
function isEnvoys(name: string): boolean {
  return name.startsWith('x-envoy-') || name === 'content-length';
}

function normalise(name: string): string {
  return name.trim().toLowerCase();
}

/** Trailers tell of the body, which followers share; but as in a head, these tell of the one who made the call. */
const ownTrailers =
  /^(set-cookie|.*request-?id|apim-.*|traceparent|cf-ray|.*-organization|.*-project|.*-workspace-id|.*ratelimit.*)$/;

/** The trailers that a follower gets, in order. */
export function replayedTrailers(trailers: HeaderList): HeaderList {
  return trailers.filter(([name]) => !ownTrailers.test(name));
}
