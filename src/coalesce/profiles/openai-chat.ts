/**
 * OpenAI's chat completions, and the many servers that speak them (vLLM, Mistral, Ollama, Gemini's compatible API, gateways).
 */

import type { Envelope, MemberRule, Profile } from './profile.ts';

const typed = 'a typed object: servers read its members by name';
const sampled = 'a float to every server; SDKs write 0 and 0.0 for the same thing';

const leaf: Envelope = { why: typed, members: new Map() };

const part: Envelope = {
  why: typed,
  members: new Map<string, MemberRule>([
    ['image_url', { object: leaf }],
    ['input_audio', { object: leaf }],
    ['file', { object: leaf }],
    ['cache_control', { object: leaf }],
  ]),
};

const message: Envelope = {
  why: 'SDKs differ in whether the role or the content comes first',
  members: new Map<string, MemberRule>([
    ['content', { items: part }],
    ['cache_control', { object: leaf }],
  ]),
};

const root: Envelope = {
  why: 'SDKs write root members in different orders',
  members: new Map<string, MemberRule>([
    ['messages', { items: message }],
    ['stream_options', { object: leaf }],
    ['reasoning', { object: leaf }],
    ['thinking', { object: leaf }],
    ['logit_bias', { object: { why: 'a map from token to bias', members: new Map() } }],
    ['temperature', { float: sampled }],
    ['top_p', { float: sampled }],
    ['min_p', { float: sampled }],
    ['frequency_penalty', { float: sampled }],
    ['presence_penalty', { float: sampled }],
    ['repetition_penalty', { float: sampled }],
    ['length_penalty', { float: sampled }],
  ]),
};

/** Grouped as the providers document them. */
const rootNames: ReadonlySet<string> = new Set(
  [
    // OpenAI
    'model messages tools tool_choice functions function_call parallel_tool_calls response_format stop n max_tokens',
    'max_completion_tokens logprobs top_logprobs logit_bias modalities prediction reasoning_effort verbosity moderation',
    'stream stream_options service_tier prompt_cache_options prompt_cache_retention metadata temperature top_p',
    'frequency_penalty presence_penalty seed user safety_identifier prompt_cache_key store web_search_options audio',
    // Azure
    'data_sources',
    // vLLM
    'top_k min_p repetition_penalty length_penalty use_beam_search watermarking stop_token_ids include_stop_str_in_output',
    'ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens truncation_side',
    'prompt_logprobs logprob_token_ids allowed_token_ids bad_words echo add_generation_prompt continue_final_message',
    'add_special_tokens documents chat_template chat_template_kwargs media_io_kwargs mm_processor_kwargs structured_outputs',
    'guided_json guided_regex guided_choice guided_grammar return_tokens_as_token_ids return_token_ids thinking_token_budget',
    'include_reasoning vllm_xargs repetition_detection stream_interval prompt_embeds cache_salt request_id session_id',
    'priority kv_transfer_params ec_transfer_params',
    // Mistral and other compatible servers
    'random_seed prompt_mode safe_prompt guardrails reasoning thinking',
  ].flatMap((line) => line.split(' ')),
);

/** The profile `openai-chat`. */
export const openaiChat: Profile = {
  name: 'openai-chat',
  errorShape: 'openai',
  method: 'POST',
  path: /\/(?:v1|v1beta\/openai)\/chat\/completions$/,
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames,
  root,
  identity: [
    { member: 'user', why: 'deprecated; names the end user for abuse reports and is not echoed' },
    { member: 'safety_identifier', why: 'names the end user for abuse reports and is not echoed' },
    { member: 'prompt_cache_key', why: 'steers the prompt cache only and is not echoed' },
  ],
  sideEffects: [
    { member: 'store', harmless: ['null', 'false'], why: 'keeps the completion; false when absent' },
    { member: 'web_search_options', harmless: ['null'], why: 'searches the web; an empty object turns it on' },
    { member: 'audio', harmless: ['null'], why: 'makes speech, which has an id that later turns refer to' },
    { member: 'modalities', harmless: [], only: 'audio', why: 'as audio' },
    { member: 'data_sources', harmless: ['null'], why: 'Azure searches stores of the caller' },
    { member: 'kv_transfer_params', harmless: ['null'], why: 'moves cached state between engines' },
    { member: 'ec_transfer_params', harmless: ['null'], why: 'moves cached state between engines' },
  ],
  tools: {
    lists: [
      { member: 'tools', callerRuns: ['function', 'custom'], typeless: 'unknown' },
      { member: 'functions', callerRuns: null, typeless: 'caller_runs' },
    ],
    choice: ['tool_choice'],
  },
  sampling: {
    temperature: ['temperature'],
    seeds: [
      // Compatible servers (Ollama, llama.cpp) read -1 as "choose one".
      { path: ['seed'], random: ['-1'] },
      { path: ['random_seed'], random: ['-1'] },
    ],
    overrides: [],
  },
};
