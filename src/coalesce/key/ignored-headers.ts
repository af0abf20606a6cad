/**
 * Which request headers are not part of the key, and why. Everything that is not on these lists counts: an unknown header
 * may change the answer, or say who asks.
 */

import type { Profile } from '../profiles/profile.ts';
import type { HeaderList } from '../request/head.ts';
import { saysJson } from './content-type.ts';

const telemetry = 'tells who made the request, with which library or in which trace; no answer depends on it';
const sdk = 'counts and names what the SDK does; changes with its version and with every retry';
const hop = 'is about this connection, not about the request';
const proxy = 'is written by proxies on the way, a new one for each request or caller address';
const signature = 'changes with every signature; the tenant holds what it proves';
const fetchMetadata = 'browsers and fetch libraries write it about themselves';
const checked = 'a condition of coalescing: only one meaning ever gets this far';

/**
 * Exact names, each with the reason why it does not count. Of Envoy's own headers many do: those of the original path and
 * host, of the caller's kind (`internal`, `ip-tags`, the calling service) and of retries and timeouts may have chosen the
 * answer.
 */
const ignoredNames: ReadonlyMap<string, string> = new Map([
  ['user-agent', telemetry],
  ['x-request-id', 'Envoy makes one for each request'],
  ['x-client-request-id', telemetry],
  ['x-correlation-id', telemetry],
  ['x-amzn-trace-id', telemetry],
  ['traceparent', telemetry],
  ['tracestate', telemetry],
  ['baggage', telemetry],
  ['b3', telemetry],
  ['sentry-trace', telemetry],
  ['x-datadog-trace-id', telemetry],
  ['x-datadog-parent-id', telemetry],
  ['x-datadog-sampling-priority', telemetry],
  ['x-datadog-origin', telemetry],
  ['x-datadog-tags', telemetry],
  ['x-cloud-trace-context', telemetry],
  ['x-ot-span-context', telemetry],
  ['grpc-trace-bin', telemetry],
  ['x-goog-api-client', sdk],
  ['x-amz-user-agent', sdk],
  ['amz-sdk-invocation-id', sdk],
  ['amz-sdk-request', sdk],
  ['amz-sdk-retry', sdk],
  ['x-fern-language', sdk],
  ['x-fern-platform', sdk],
  ['x-fern-runtime', sdk],
  ['x-fern-runtime-version', sdk],
  ['x-fern-sdk-name', sdk],
  ['x-fern-sdk-version', sdk],
  ['x-server-timeout', sdk],
  ['x-amz-date', signature],
  ['x-amz-content-sha256', signature],
  ['via', proxy],
  ['forwarded', proxy],
  ['x-forwarded-for', proxy],
  ['x-forwarded-proto', proxy],
  ['x-forwarded-port', proxy],
  ['x-forwarded-host', proxy],
  ['x-real-ip', proxy],
  ['x-envoy-attempt-count', proxy],
  ['x-envoy-expected-rq-timeout-ms', proxy],
  ['x-envoy-external-address', proxy],
  ['x-envoy-decorator-operation', 'names a span of the trace'],
  ['x-envoy-force-trace', 'has this request traced'],
  ['x-envoy-is-timeout-retry', proxy],
  ['x-envoy-peer-metadata', 'names the calling pod for the telemetry of a mesh; another one for each replica'],
  ['x-envoy-peer-metadata-id', 'as x-envoy-peer-metadata'],
  ['date', hop],
  ['connection', hop],
  ['proxy-connection', hop],
  ['keep-alive', hop],
  ['te', hop],
  ['trailer', hop],
  ['transfer-encoding', hop],
  ['expect', hop],
  ['content-length', 'counts bytes, of which two spellings of one body have different numbers'],
  ['accept-encoding', 'the upstream call is made with identity, which every caller can read'],
  ['content-encoding', checked],
]);

/** The only families of names that are ignored whole. `x-forwarded-` is none: some of it is identity. */
const ignoredPrefixes: ReadonlyMap<string, string> = new Map([
  ['x-stainless-', sdk],
  ['x-b3-', telemetry],
  ['sec-', fetchMetadata],
]);

/** Headers that do not count with certain values: with those they ask for what is given anyway. */
const ignoredValues: ReadonlyMap<string, { readonly values: readonly string[]; readonly why: string }> = new Map([
  [
    'accept',
    {
      values: [
        '*/*',
        'application/json',
        'text/event-stream',
        'application/x-ndjson',
        'application/vnd.amazon.eventstream',
      ],
      why: 'SDKs ask for JSON even where they stream: the body and the path decide',
    },
  ],
  ['accept-language', { values: ['*'], why: 'fetch libraries always send it' }],
  ['cookie', { values: [''], why: 'an SDK sends it empty' }],
  ['cache-control', { values: ['no-cache'], why: 'SDKs send it with streams; nothing here is a cache' }],
  ['pragma', { values: ['no-cache'], why: 'as cache-control' }],
]);

const signed = 'changes with every signature, and the tenant holds who signed';
const byPolicy = 'the policy ignores it';

export interface IgnoringOptions {
  readonly profile: Profile;
  /** Whether headers that only say who asks are left out. */
  readonly ignoreIdentity: boolean;
  /** Names in lower case that the policy ignores besides. */
  readonly ignoreHeaders: readonly string[];
  /** The tenant holds who signed the request. */
  readonly isSigned: boolean;
}

/** The headers that are part of the key, in order. */
export function keyedHeaders(headers: HeaderList, options: IgnoringOptions): HeaderList {
  return headers.filter(([name, value]) => whyIgnored(name, value, options) === null);
}

/** Why a header does not count; null where it counts. `name` is lower case. */
export function whyIgnored(name: string, value: string, options: IgnoringOptions): string | null {
  const { profile, ignoreHeaders, isSigned } = options;
  if (ignoreHeaders.includes(name)) return byPolicy;
  if (isSigned && name === 'authorization') return signed;
  if (profile.headers?.counted.some((header) => header.name === name)) return null;
  const identity = profile.headers?.identity.find((header) => header.name === name);
  if (identity !== undefined) return options.ignoreIdentity ? identity.why : null;
  if (name === 'content-type') return saysJson(value) ? checked : null;
  const byName = ignoredNames.get(name);
  if (byName !== undefined) return byName;
  for (const [prefix, why] of ignoredPrefixes) if (name.startsWith(prefix)) return why;
  const byValue = ignoredValues.get(name);
  return byValue !== undefined && listed(value).every((item) => byValue.values.includes(item)) ? byValue.why : null;
}

/** The items of a list header, without their weight. */
function listed(value: string): string[] {
  return value.split(',').map((item) =>
    item
      .replace(/;\s*q=[\d.]+\s*$/i, '')
      .trim()
      .toLowerCase(),
  );
}
