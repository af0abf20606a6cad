/**
 * Chat completions, of OpenAI and of the many servers that speak them on the same path: vLLM, Mistral, Ollama, Gemini's
 * compatible API, gateways. So this profile is as careful as the most dangerous of them asks for.
 */

import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { asObject, envelope, rootOrder } from '../shared-rules.ts';
import { compatibleSampling, completionUsage, floats, message, transfers, userIdentity, withVllm } from './members.ts';

/** The profile `openai-chat`. */
export const openaiChat: Profile = {
  name: 'openai-chat',
  sources: [
    'https://github.com/openai/openai-openapi (CreateChatCompletionRequest)',
    'https://github.com/vllm-project/vllm vllm/entrypoints/openai/chat_completion/protocol.py',
    'https://docs.mistral.ai/api (chat), npm @mistralai/mistralai 2.7.0',
    'https://learn.microsoft.com/azure/ai-services/openai/reference (data_sources)',
    'npm openai 6.49.0, PyPI openai 2.54.0, npm @ai-sdk/azure 3 (/openai/chat/completions)',
  ],
  errorShape: 'openai',
  method: 'POST',
  paths: pathPatterns('**/v1/chat/completions', '**/v1beta/openai/chat/completions', '**/openai/chat/completions'),
  contentType: 'json',
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames: withVllm(
    // OpenAI
    'model messages tools tool_choice functions function_call parallel_tool_calls response_format stop n max_tokens',
    'max_completion_tokens logprobs top_logprobs logit_bias modalities prediction reasoning_effort verbosity moderation',
    'stream stream_options service_tier prompt_cache_options prompt_cache_retention metadata temperature top_p',
    'frequency_penalty presence_penalty seed user safety_identifier prompt_cache_key store web_search_options audio',
    // Azure
    'data_sources',
    // Mistral and other compatible servers
    'random_seed prompt_mode safe_prompt guardrails reasoning thinking',
    'web_search enable_search search_parameters plugins',
  ),
  root: envelope(
    rootOrder,
    ['messages', { items: message }],
    ['stream_options reasoning thinking', asObject],
    ['logit_bias', { object: { why: 'a map from token to bias', members: new Map() } }],
    floats,
  ),
  identity: [
    userIdentity,
    { member: 'safety_identifier', why: 'names the end user for abuse reports and is not echoed' },
    { member: 'prompt_cache_key', why: 'steers the prompt cache only and is not echoed' },
  ],
  sideEffects: [
    { kind: 'value', path: ['store'], harmless: ['absent', 'null', 'false'], why: 'keeps the completion' },
    {
      kind: 'value',
      path: ['web_search_options'],
      harmless: ['absent', 'null'],
      why: 'searches the web; an empty object turns it on',
    },
    ...['web_search', 'enable_search', 'search_parameters', 'plugins'].map((member) => ({
      kind: 'value' as const,
      path: [member],
      harmless: ['absent', 'null', 'false'] as const,
      why: 'turns the web search of a compatible server on (OpenRouter, xAI, Qwen, Zhipu and others)',
    })),
    {
      kind: 'value',
      path: ['audio'],
      harmless: ['absent', 'null'],
      why: 'makes speech, which has an id that later turns refer to',
    },
    { kind: 'word', member: 'modalities', word: 'audio', why: 'as audio' },
    {
      kind: 'value',
      path: ['data_sources'],
      harmless: ['absent', 'null'],
      why: 'Azure searches stores of the caller',
    },
    ...transfers,
  ],
  tools: {
    lists: [
      // Mistral's web_search, code_interpreter and the like are run by the server, as every kind that is not named here may be.
      { path: ['tools'], toldBy: 'type', callerRuns: ['function', 'custom'], typeless: 'unknown' },
      { path: ['functions'], toldBy: 'nothing' },
    ],
    choices: [
      { path: ['tool_choice'], off: 'none' },
      { path: ['function_call'], off: 'none' },
    ],
  },
  sampling: compatibleSampling,
  usage: completionUsage,
};
