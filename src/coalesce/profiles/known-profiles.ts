/**
 * The list of endpoints whose calls may be shared. An allow-list: what is on it was read with care, everything else is
 * passed on.
 */

import { anthropicMessages } from './anthropic-messages.ts';
import { openaiChat } from './openai-chat.ts';
import type { Profile } from './profile.ts';

const knownProfiles: readonly Profile[] = [openaiChat, anthropicMessages];

/** The profile of an endpoint; null where it is not on the list. `path` is raw, with or without a query. */
export function profileOf(method: string, path: string): Profile | null {
  const plain = path.split('?', 1)[0] ?? '';
  return knownProfiles.find((profile) => profile.method === method && profile.path.test(plain)) ?? null;
}
