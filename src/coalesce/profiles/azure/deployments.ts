/**
 * Azure OpenAI's paths that name a deployment, which is the model there. Bodies are OpenAI's; a model in them counts as it
 * stands. Azure's `/openai/v1/` and `/openai/` are paths of the OpenAI profiles.
 */

import { openaiChat } from '../openai/chat.ts';
import { openaiCompletions } from '../openai/completions.ts';
import { openaiEmbeddings } from '../openai/embeddings.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';

const sources = [
  'https://learn.microsoft.com/azure/ai-services/openai/reference',
  'npm openai 6.49.0 (AzureOpenAI), PyPI langchain-openai 1.7.4 (AzureChatOpenAI)',
];

/** The profile `azure-chat`. */
export const azureChat: Profile = {
  ...openaiChat,
  name: 'azure-chat',
  sources,
  paths: pathPatterns('**/openai/deployments/{model}/chat/completions'),
  model: { from: 'path' },
};

/** The profile `azure-completions`. */
export const azureCompletions: Profile = {
  ...openaiCompletions,
  name: 'azure-completions',
  sources,
  paths: pathPatterns('**/openai/deployments/{model}/completions'),
  model: { from: 'path' },
};

/** The profile `azure-embeddings`. */
export const azureEmbeddings: Profile = {
  ...openaiEmbeddings,
  name: 'azure-embeddings',
  sources,
  paths: pathPatterns('**/openai/deployments/{model}/embeddings'),
  model: { from: 'path' },
};
