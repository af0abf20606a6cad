/** Embeddings, of OpenAI and of compatible servers (vLLM, Mistral, Ollama). They do not sample. */

import { knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { envelope, noTools, rootOrder } from '../shared-rules.ts';
import { message, transfers, userIdentity } from './members.ts';

/** The profile `openai-embeddings`. */
export const openaiEmbeddings: Profile = {
  name: 'openai-embeddings',
  sources: [
    'https://github.com/openai/openai-openapi (CreateEmbeddingRequest)',
    'https://docs.mistral.ai/api (embeddings), npm @mistralai/mistralai 2.7.0',
    'https://github.com/vllm-project/vllm (pooling protocol)',
  ],
  errorShape: 'openai',
  method: 'POST',
  paths: pathPatterns('**/v1/embeddings', '**/v1beta/openai/embeddings', '**/openai/embeddings'),
  contentType: 'json',
  model: { from: 'body', member: 'model' },
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames(
    'model input encoding_format dimensions user',
    'output_dimension output_dtype metadata',
    'messages truncate_prompt_tokens additional_data add_special_tokens priority mm_processor_kwargs chat_template',
    'add_generation_prompt continue_final_message request_id normalize kv_transfer_params ec_transfer_params',
  ),
  root: envelope(rootOrder, ['messages input', { items: message }]),
  identity: [userIdentity],
  sideEffects: transfers,
  tools: noTools,
  sampling: 'none',
  usage: { answer: { in: 'json', prompt: ['usage', 'prompt_tokens'], completion: null }, stream: null },
};
