/** Which keys are enforced while the rest is still shadowed. */

import type { Key } from '../key/key.ts';
import type { Policy } from './policy.ts';

/**
 * Whether answers under this key are shared. Stable: under one secret a key that is enforced at some share stays so at
 * every larger one.
 */
export function isEnforced(key: Key, { mode, rollout }: Pick<Policy, 'mode' | 'rollout'>): boolean {
  if (mode !== 'enforce') return false;
  return Number.parseInt(key.slice(0, 8), 16) < (rollout / 100) * 2 ** 32;
}
