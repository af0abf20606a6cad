/**
 * OpenAI's responses. They keep what they answer unless the call says `store: false`, and the answer repeats who asked,
 * so that nothing about identity is left out here.
 */

import { pathPatterns } from '../path-pattern.ts';
import type { Profile, ToolRules } from '../profile.ts';
import { asObject, envelope, leaf, rootOrder } from '../shared-rules.ts';
import { floats, message, transfers, withVllm } from './members.ts';

/** An item is a message, or a typed object with texts; a call's arguments are a text. */
const item = { ...message, why: leaf.why };

export const responsesRoot: Profile['root'] = envelope(
  rootOrder,
  ['input', { items: item }],
  ['stream_options reasoning', asObject],
  floats,
);

export const responsesNames: Profile['rootNames'] = withVllm(
  'model input instructions prompt tools tool_choice parallel_tool_calls max_tool_calls text reasoning include',
  'max_output_tokens top_logprobs truncation moderation service_tier stream stream_options prompt_cache_key',
  'prompt_cache_options prompt_cache_retention temperature top_p frequency_penalty presence_penalty user',
  'safety_identifier metadata store previous_response_id conversation background context_management personality',
);

export const responsesTools: ToolRules = {
  lists: [{ path: ['tools'], toldBy: 'type', callerRuns: ['function', 'custom'], typeless: 'unknown' }],
  choices: [{ path: ['tool_choice'], off: 'none' }],
};

/** The profile `openai-responses`. */
export const openaiResponses: Profile = {
  name: 'openai-responses',
  sources: [
    'https://github.com/openai/openai-openapi (CreateResponse; the schema Response repeats user and metadata)',
    'npm openai 6.49.0, npm @ai-sdk/openai 3, PyPI langchain-openai 1.7.4',
  ],
  errorShape: 'openai',
  method: 'POST',
  paths: pathPatterns('**/v1/responses', '**/openai/responses'),
  contentType: 'json',
  // A prompt template that the server keeps may name the model.
  model: { from: 'body', member: 'model', whenAbsent: 'unnamed' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames: responsesNames,
  root: responsesRoot,
  identity: [],
  sideEffects: [
    { kind: 'value', path: ['store'], harmless: ['false'], why: 'keeps the response; true when absent' },
    {
      kind: 'value',
      path: ['previous_response_id'],
      harmless: ['absent', 'null'],
      why: 'continues a conversation that the server holds',
    },
    { kind: 'value', path: ['conversation'], harmless: ['absent', 'null'], why: 'adds to a conversation' },
    { kind: 'value', path: ['background'], harmless: ['absent', 'null', 'false'], why: 'makes a job' },
    { kind: 'value', path: ['context_management'], harmless: ['absent', 'null'], why: 'rewrites kept state' },
    {
      kind: 'item',
      member: 'input',
      types: ['item_reference', 'mcp_approval_response'],
      // A reference needs no type: its id alone is one. A message needs none either, but has a role.
      unless: 'role',
      why: 'refers to what the server keeps, or lets a server act',
    },
    ...transfers,
  ],
  tools: responsesTools,
  sampling: { temperatures: [['temperature']], seeds: [], overrides: [] },
  usage: {
    answer: { in: 'json', prompt: ['usage', 'input_tokens'], completion: ['usage', 'output_tokens'] },
    // In response.completed and response.incomplete.
    stream: {
      in: 'json',
      prompt: ['response', 'usage', 'input_tokens'],
      completion: ['response', 'usage', 'output_tokens'],
    },
  },
};
