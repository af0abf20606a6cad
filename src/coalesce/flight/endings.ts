/**
 * Every way in which a flight can end, and the roles in which a caller can leave. Closed lists: each word is a metric
 * label, a log field and the name of a test.
 */

export const flightEndings = [
  'landed',
  'failed_status',
  'failed_connect',
  'cut',
  'leader_lost',
  'abandoned',
  'first_byte_timeout',
  'idle_timeout',
  'total_timeout',
  'lease_lost',
  'invariant',
] as const;
export type FlightEnding = (typeof flightEndings)[number];

export const cancellationRoles = ['leader', 'follower', 'queued'] as const;
export type CancellationRole = (typeof cancellationRoles)[number];
