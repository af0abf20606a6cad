/**
 * What the OpenAI endpoints have in common: the envelopes of messages and the names that compatible servers add to all of
 * them.
 */

import { joinNames, knownNames, type KnownNames } from '../known-names.ts';
import type { Envelope, MemberRule, Sampling, SideEffect, Usage } from '../profile.ts';
import { asObject, envelope, float, leaf } from '../shared-rules.ts';

/** One part of a message's content. */
export const part: Envelope = envelope(leaf.why, ['image_url input_audio file source cache_control', asObject]);

export const message: Envelope = envelope(
  'SDKs differ in whether the role or the content comes first',
  ['content', { items: part }],
  ['cache_control', asObject],
);

/** Sampling floats, of OpenAI and of compatible servers. */
export const floats: readonly [names: string, rule: MemberRule] = [
  'temperature top_p min_p frequency_penalty presence_penalty repetition_penalty length_penalty',
  float,
];

/** What vLLM takes beside OpenAI's members on the endpoints that generate. */
const vllmNames: KnownNames = knownNames(
  'top_k min_p repetition_penalty length_penalty use_beam_search watermarking stop_token_ids include_stop_str_in_output',
  'ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens truncation_side',
  'prompt_logprobs logprob_token_ids allowed_token_ids bad_words echo add_generation_prompt continue_final_message',
  'add_special_tokens documents chat_template chat_template_kwargs media_io_kwargs mm_processor_kwargs structured_outputs',
  'guided_json guided_regex guided_choice guided_grammar return_tokens_as_token_ids return_token_ids thinking_token_budget',
  'include_reasoning vllm_xargs repetition_detection stream_interval prompt_embeds cache_salt request_id session_id',
  'priority kv_transfer_params ec_transfer_params',
);

/** These names and vLLM's. */
export function withVllm(...lines: readonly string[]): KnownNames {
  return joinNames(knownNames(...lines), vllmNames);
}

/** vLLM's members that move state between its engines. */
export const transfers: readonly SideEffect[] = ['kv_transfer_params', 'ec_transfer_params'].map((member) => ({
  kind: 'value',
  path: [member],
  harmless: ['absent', 'null'],
  why: 'moves cached state between engines',
}));

export const userIdentity = {
  member: 'user',
  why: 'deprecated; names the end user for abuse reports and is not echoed',
} as const;

const tokens = { in: 'json', prompt: ['usage', 'prompt_tokens'], completion: ['usage', 'completion_tokens'] } as const;

/** In a stream only where the call asked for it, in the last chunk. */
export const completionUsage: Usage = { answer: tokens, stream: tokens };

/** How OpenAI's endpoints and the servers that copy them tell whether an answer is chosen at random. */
export const compatibleSampling: Sampling = {
  temperatures: [['temperature']],
  // Compatible servers (vLLM, Ollama, llama.cpp) read -1 as "choose one".
  seeds: [
    { path: ['seed'], random: ['-1'] },
    { path: ['random_seed'], random: ['-1'] },
  ],
  overrides: [],
};
