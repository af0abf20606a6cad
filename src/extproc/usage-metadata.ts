/** What an answer cost, as dynamic metadata: for access logs, and for filters that count budgets, which take numbers only. */

import type { Tokens } from '../coalesce/answer/usage.ts';
import type { Metadata } from './wire.ts';

/** For a reply; nothing where nothing is known. */
export function usageMetadata(tokens: Tokens | null): { readonly metadata?: Metadata } {
  if (tokens === null) return {};
  const { prompt, completion } = tokens;
  const metadata = {
    ...(prompt === null ? {} : { prompt_tokens: prompt }),
    ...(completion === null ? {} : { completion_tokens: completion }),
  };
  return { metadata };
}
