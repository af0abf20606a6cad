/**
 * The list of endpoints whose calls may be shared. An allow-list: what is on it was read with care, everything else is
 * passed on.
 */

import { anthropicCountTokens, anthropicMessages } from './anthropic/messages.ts';
import { azureChat, azureCompletions, azureEmbeddings } from './azure/deployments.ts';
import { bedrockConverse, bedrockConverseStream } from './bedrock/converse.ts';
import { bedrockCountTokens } from './bedrock/count-tokens.ts';
import { bedrockInvoke, bedrockInvokeStream } from './bedrock/invoke.ts';
import { cohereChat } from './cohere/chat.ts';
import { cohereEmbed, cohereRerank } from './cohere/embed.ts';
import { geminiCountTokens } from './gemini/count-tokens.ts';
import { geminiBatchEmbed, geminiEmbed } from './gemini/embed.ts';
import { geminiGenerate, geminiStream } from './gemini/generate.ts';
import { mistralFim } from './mistral/fim.ts';
import { ollamaEmbed } from './ollama/embed.ts';
import { ollamaChat, ollamaGenerate } from './ollama/generate.ts';
import { openaiChat } from './openai/chat.ts';
import { openaiCompletions } from './openai/completions.ts';
import { openaiEmbeddings } from './openai/embeddings.ts';
import { openaiInputTokens } from './openai/input-tokens.ts';
import { openaiModerations } from './openai/moderations.ts';
import { openaiResponses } from './openai/responses.ts';
import { matchPath } from './path-pattern.ts';
import type { Profile } from './profile.ts';

/** The first that has a path counts: Azure's deployments may be named like anything. */
export const knownProfiles: readonly Profile[] = [
  azureChat,
  azureCompletions,
  azureEmbeddings,
  openaiChat,
  openaiCompletions,
  openaiResponses,
  openaiInputTokens,
  openaiEmbeddings,
  openaiModerations,
  anthropicMessages,
  anthropicCountTokens,
  geminiGenerate,
  geminiStream,
  geminiEmbed,
  geminiBatchEmbed,
  geminiCountTokens,
  bedrockConverse,
  bedrockConverseStream,
  bedrockInvoke,
  bedrockInvokeStream,
  bedrockCountTokens,
  ollamaChat,
  ollamaGenerate,
  ollamaEmbed,
  cohereChat,
  cohereEmbed,
  cohereRerank,
  mistralFim,
];

/**
 * The profile of an endpoint; null where it is not on the list. `path` is raw, with or without a query. `own` are the
 * operator's, besides the known ones.
 */
export function profileOf(method: string, path: string, own: readonly Profile[] = []): Profile | null {
  const isOf = (profile: Profile): boolean => profile.method === method && matchPath(profile.paths, path) !== null;
  return knownProfiles.find(isOf) ?? own.find(isOf) ?? null;
}
