/**
 * The closed lists of what can be decided about an exchange. Each word is a metric label, a log field and a value of the
 * dynamic metadata; a new one needs its line in the public interface.
 */

export const outcomes = ['leader', 'follower', 'replayed', 'bypass', 'shed'] as const;
export type Outcome = (typeof outcomes)[number];

export const bypassReasons = [
  'opt_out',
  'mode_off',
  'shadow',
  'not_llm',
  'upgrade',
  'content_type',
  'no_body',
  'too_large',
  'unparseable',
  'unsupported_encoding',
  'side_effects',
  'nondeterministic',
  'no_tenant',
  'limit',
  'overload',
  'draining',
  'egress_loop',
  'egress_down',
] as const;
export type BypassReason = (typeof bypassReasons)[number];

export const shedReasons = ['queue_full', 'max_wait'] as const;
export type ShedReason = (typeof shedReasons)[number];
