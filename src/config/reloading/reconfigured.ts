/** What of a configuration can change while the process runs, and what waits for its next start. */

import { isDeepStrictEqual } from 'node:util';

import { formatAddress, type Address } from '../values/address.ts';
import type { Config } from '../definition.ts';
import type { RedisConfig } from '../fleet/redis.ts';

/** The new configuration as far as it can be had now; `kept` names the changed keys that stay as they are. */
export function reconfigured(running: Config, next: Config): { config: Config; kept: readonly string[] } {
  const { listen, admin, probes, egress, redis, tracing } = running;
  const { scope } = running.admission;
  // A port stays what it is, plain or not; what it proves itself with changes at once.
  const keepsTls = (running.tls === null) !== (next.tls === null);
  const kept = [
    ...(same(listen.map(formatAddress), next.listen.map(formatAddress)) ? [] : ['listen']),
    ...(formatAddress(admin) === formatAddress(next.admin) ? [] : ['admin']),
    ...(written(probes) === written(next.probes) ? [] : ['probes']),
    ...(egress === next.egress ? [] : ['egress']),
    ...(isDeepStrictEqual(tracing, next.tracing) ? [] : ['tracing']),
    ...(keepsTls ? ['tls'] : []),
    ...(isSame(redis, next.redis) ? [] : ['redis']),
    ...(scope === next.admission.scope ? [] : ['admission.scope']),
  ];
  const admission = { ...next.admission, scope };
  const tls = keepsTls ? running.tls : next.tls;
  return { config: { ...next, listen, admin, probes, egress, tls, redis, tracing, admission }, kept };
}

function same(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index]);
}

/** Plain data, with its keys always in one order. */
function isSame(left: RedisConfig | null, right: RedisConfig | null): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function written(address: Address | null): string | null {
  return address === null ? null : formatAddress(address);
}
