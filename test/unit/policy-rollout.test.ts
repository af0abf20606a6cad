import { describe, expect, it } from 'vitest';

import type { Key } from '../../src/coalesce/key/key.ts';
import { isEnforced } from '../../src/coalesce/request/rollout.ts';
import { digest } from '../../src/coalesce/key/digest.ts';

const keys = Array.from({ length: 4000 }, (_, index) => {
  return digest(new Uint8Array(32), { label: 'test', parts: [String(index)] }) as Key;
});

function enforced(rollout: number): Set<Key> {
  return new Set(keys.filter((key) => isEnforced(key, { mode: 'enforce', rollout })));
}

describe('a rollout', () => {
  it('enforces about its share of the keys, none at 0 and all at 100', () => {
    expect(enforced(0).size).toBe(0);
    expect(enforced(100).size).toBe(keys.length);
    expect(enforced(25).size / keys.length).toBeGreaterThan(0.2);
    expect(enforced(25).size / keys.length).toBeLessThan(0.3);
  });

  it('keeps every key that a smaller share had', () => {
    const more = enforced(60);
    for (const key of enforced(30)) expect(more.has(key)).toBe(true);
  });

  it('enforces nothing where the mode does not', () => {
    for (const mode of ['shadow', 'off'] as const)
      expect(keys.some((key) => isEnforced(key, { mode, rollout: 100 }))).toBe(false);
  });
});
