/**
 * What the processor's configuration asks of Envoy. Owns which of its numbers matter; reads no file.
 */
import type { Policy } from '../coalesce/request/policy.ts';
import type { Config } from '../config/definition.ts';
import type { Address } from '../config/values/address.ts';

export interface Expectations {
  readonly maxRequestBytes: number;
  /** The longest that a caller may have no byte. */
  readonly silenceMs: number;
  /** The longest that one upstream call may take. */
  readonly totalMs: number;
  /** Port of the egress listener; null in the attached leg, and where the egress names none. */
  readonly egressPort: number | null;
  readonly policies: readonly Policy[];
  /** Who may call the processor: who has a certificate, who is on the same machine, or anybody. */
  readonly callers: 'certified' | 'local' | 'anybody';
}

/** `more`: policies besides those of the configuration. */
export function expectationsOf(config: Config, more: readonly Policy[]): Expectations {
  const policies = [config.policy, ...config.policies.map(({ policy }) => policy), ...more];
  const longest = (deadline: (policy: Policy) => number): number => Math.max(...policies.map(deadline));
  return {
    maxRequestBytes: config.limits.maxRequestBytes,
    silenceMs: longest(({ deadlines }) => Math.max(deadlines.waitMs, deadlines.firstByteMs, deadlines.idleMs)),
    totalMs: longest(({ deadlines }) => deadlines.totalMs),
    egressPort: config.egress === null ? null : portOf(config.egress),
    policies,
    callers: callersOf(config),
  };
}

function callersOf({ tls, listen }: Config): Expectations['callers'] {
  if (tls !== null) return 'certified';
  const isLocal = (address: Address): boolean =>
    address.kind === 'unix' || /^(127\.|::1$|localhost$)/.test(address.host);
  return listen.every(isLocal) ? 'local' : 'anybody';
}

function portOf(egress: string): number | null {
  const { port, protocol } = new URL(egress);
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}
