/** What several profiles say in the same words. */

import type { Envelope, MemberRule, ToolRules, Usage } from './profile.ts';

/** An object without objects inside that are compared. */
export const leaf: Envelope = { why: 'a typed object: servers read its members by name', members: new Map() };

/** A number that is compared by its value. */
export const float: MemberRule = { float: 'a float to every server; SDKs write 0 and 0.0 for the same thing' };

export const asObject: MemberRule = { object: leaf };

/** An envelope with these members; names of one rule stand together, with spaces between. */
export function envelope(why: string, ...rules: readonly (readonly [names: string, rule: MemberRule])[]): Envelope {
  return {
    why,
    members: new Map(rules.flatMap(([names, rule]) => names.split(' ').map((name) => [name, rule] as const))),
  };
}

export const rootOrder = 'SDKs write root members in different orders';

export const noTools: ToolRules = { lists: [], choices: [] };

export const noUsage: Usage = { answer: null, stream: null };
