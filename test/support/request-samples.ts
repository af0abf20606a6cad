/**
 * Requests and policies for the tests of the key and of eligibility.
 */

import { judge, screen, type Verdict } from '../../src/coalesce/request/eligibility.ts';
import type { HeaderList, RequestHead } from '../../src/coalesce/request/head.ts';
import type { Policy, TenantSource } from '../../src/coalesce/request/policy.ts';

export const secret: Uint8Array = new Uint8Array(32).fill(7);
const maxRequestBytes: number = 8 * 1024 * 1024;

const jwt = 'envoy.filters.http.jwt_authn';

export const defaultSources: readonly TenantSource[] = [
  {
    kind: 'all',
    sources: [
      { kind: 'metadata', namespace: jwt, path: ['payload', 'iss'] },
      { kind: 'metadata', namespace: jwt, path: ['payload', 'sub'] },
    ],
  },
  { kind: 'header', name: 'authorization' },
  { kind: 'header', name: 'x-api-key' },
  { kind: 'header', name: 'api-key' },
  { kind: 'header', name: 'x-goog-api-key' },
  { kind: 'query', name: 'key' },
];

/** The documented defaults, with changes. */
export function samplePolicy(changes: Partial<Policy> = {}): Policy {
  return {
    epoch: 'e1',
    name: 'default',
    mode: 'enforce',
    tenant: { from: defaultSources, anonymous: 'bypass' },
    sampling: 'deterministic',
    tools: 'bypass',
    identity: 'keep',
    key: {
      include: [],
      ignoreHeaders: [],
      ignoreBody: [],
      normalize: { collapseWhitespace: false, stripTimestamps: false, stripNonces: [] },
    },
    rollout: 100,
    shadow: { compare: 0.01, maxBytes: 1_048_576 },
    maxWaiters: 32,
    lateJoin: { maxEvents: 1000, maxBytes: 1_048_576, maxAgeMs: 60_000 },
    deadlines: { firstByteMs: 600_000, idleMs: 300_000, totalMs: 1_800_000, keepAliveMs: 0, waitMs: 900_000 },
    retry: { maxAttempts: 1, on: ['connect_failure', '502', '503', '504'], backoffMs: 200 },
    negativeCache: { ttlMs: 0, statuses: [400, 404, 413, 422], maxEntries: 1000 },
    ...changes,
  };
}

/** A chat completion's head, with changes. */
export function sampleHead(changes: Partial<RequestHead> = {}): RequestHead {
  return {
    method: 'POST',
    authority: 'llm.example.com',
    path: '/v1/chat/completions',
    headers: [
      ['authorization', 'Bearer sample'],
      ['content-type', 'application/json'],
    ],
    bodyFollows: true,
    routeName: null,
    clusterName: null,
    metadata: () => undefined,
    attribute: () => undefined,
    ...changes,
  };
}

/** The sample's headers, and more. */
export function withHeaders(...more: HeaderList): RequestHead {
  return sampleHead({ headers: [...sampleHead().headers, ...more] });
}

/** Claims as the JWT filter leaves them. */
export function claims(payload: unknown): (namespace: string) => unknown {
  return (namespace) => (namespace === jwt ? { payload } : undefined);
}

export const sampleBody: Readonly<Record<string, unknown>> = {
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Hello' }],
  temperature: 0,
};

/** Screens and judges as the processor does. A body that is no text and no bytes is written as JSON. */
export function decide(
  head: RequestHead,
  body: unknown,
  policy: Policy = samplePolicy(),
  key: Uint8Array = secret,
): Verdict {
  const screening = screen(head, { policy, maxRequestBytes });
  if (screening.kind === 'bypass') return screening;
  return judge({ head, body: toBytes(body), profile: screening.profile, fleet: null }, { policy, secret: key });
}

/** The key, or the reason for a bypass. */
export function keyOrReason(head: RequestHead, body: unknown, policy?: Policy, key?: Uint8Array): string {
  const verdict = decide(head, body, policy, key);
  return verdict.kind === 'eligible' ? verdict.key : verdict.reason;
}

function toBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8');
}
