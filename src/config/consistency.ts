/**
 * What has to hold between keys. Each check names every key that it reads, so that it is left out where one of them has
 * a mistake of its own.
 */
import type { NamedPolicy } from '../coalesce/request/policy-choice.ts';
import { formatAddress } from './values/address.ts';
import type { Address } from './values/address.ts';
import type { ConfigContent } from './definition.ts';
import { formatSize } from './values/durations-and-sizes.ts';
import { policyConflicts } from './policy/conflicts.ts';
import { profileConflicts } from './policy/profiles.ts';
import { dottedPath } from './mistakes/mistakes.ts';
import type { Finding, KeyPath } from './mistakes/mistakes.ts';

interface Conflict {
  /** The first is the one that the mistake is printed for. */
  readonly paths: readonly [KeyPath, ...KeyPath[]];
  readonly message: string;
}

/** The conflicts in a content, but those that involve a key of `faulty` (dotted paths). */
export function inconsistencies(content: ConfigContent, faulty: ReadonlySet<string>): Finding[] {
  const conflicts = [
    ...secretConflicts(content),
    ...fleetConflicts(content),
    ...limitConflicts(content),
    ...addressConflicts(content),
  ];
  const between = conflicts
    .filter(({ paths }) => paths.every((path) => !faulty.has(dottedPath(path))))
    .map(({ paths, message }) => ({ path: paths[0], message, onKey: false }));
  return [...between, ...policyConflicts(content.policy), ...profileConflicts(content.profiles)];
}

/** The conflicts of a policy of the file's `policies`, with itself and with the limits of all. */
export function inconsistenciesOfPolicy({ policy }: NamedPolicy, { limits }: ConfigContent): Finding[] {
  const at = ['policies', policy.name];
  const findings = policyConflicts(policy).map((finding) => ({ ...finding, path: [...at, ...finding.path] }));
  if (policy.maxWaiters <= limits.maxWaitersTotal) return findings;
  const message = `${policy.maxWaiters} is over limits.max_waiters_total, expected at most ${limits.maxWaitersTotal}`;
  return [...findings, { path: [...at, 'limits', 'max_waiters'], message, onKey: false }];
}

function secretConflicts({ secretText, secretFile }: ConfigContent): Conflict[] {
  if (secretText === null || secretFile === null) return [];
  const message = 'given beside key.secret, expected one of the two';
  return [
    {
      paths: [
        ['key', 'secret_file'],
        ['key', 'secret'],
      ],
      message,
    },
  ];
}

/** What a fleet shares is found and read under one secret, and lies in Redis. */
function fleetConflicts({ redis, secretText, secretFile, admission }: ConfigContent): Conflict[] {
  const conflicts: Conflict[] = [];
  if (redis !== null && secretText === null && secretFile === null) {
    const message = 'needs key.secret or key.secret_file, the same for all processors that share it';
    conflicts.push({ paths: [['redis'], ['key', 'secret'], ['key', 'secret_file']], message });
  }
  if (admission.scope === 'fleet' && redis === null) {
    const message = 'fleet needs redis, expected process without it';
    conflicts.push({ paths: [['admission', 'scope'], ['redis']], message });
  }
  return conflicts;
}

function limitConflicts({ limits, policy }: ConfigContent): Conflict[] {
  const pairs = [
    ['max_waiters', policy.maxWaiters, limits.maxWaitersTotal, String],
    ['max_request_bytes', limits.maxRequestBytes, limits.maxRequestBytesTotal, formatSize],
    ['max_replay_bytes', limits.maxReplayBytes, limits.maxReplayBytesTotal, formatSize],
  ] as const;
  return pairs
    .filter(([, single, total]) => single > total)
    .map(([name, single, total, format]) => ({
      paths: [
        ['limits', name],
        ['limits', `${name}_total`],
      ],
      message: `${format(single)} is over limits.${name}_total, expected at most ${format(total)}`,
    }));
}

function addressConflicts({ listen, admin, probes, egress }: ConfigContent): Conflict[] {
  const places: [KeyPath, Address][] = listen.map((address, index) => [['listen', index], address]);
  places.push([['admin'], admin]);
  if (probes !== null) places.push([['probes'], probes]);
  const conflicts: Conflict[] = [];
  const seen = new Map<string, KeyPath>();
  for (const [path, address] of places) {
    if (address.kind === 'tcp' && address.port === 0) continue;
    const text = formatAddress(address);
    const earlier = seen.get(text);
    if (earlier === undefined) seen.set(text, path);
    else
      conflicts.push({
        paths: [path, earlier],
        message: `${text} is taken by ${dottedPath(earlier)}, expected another`,
      });
  }
  const own = egress === null ? undefined : seen.get(new URL(egress).host);
  if (own !== undefined) {
    const message = `is this process's own ${dottedPath(own)}, expected the egress listener of Envoy`;
    conflicts.push({ paths: [['egress'], own], message });
  }
  return conflicts;
}
