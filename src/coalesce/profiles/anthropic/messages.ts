/**
 * Anthropic's messages, which Ollama and vLLM speak too, and the count of their tokens. Batches are another endpoint.
 */

import { knownNames, type KnownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Envelope, Profile, SideEffect, ToolList } from '../profile.ts';
import { asObject, envelope, float, leaf, noUsage, rootOrder } from '../shared-rules.ts';

/** A tool's input and result keep their order: they are rendered into the prompt as they stand. */
export const anthropicBlock: Envelope = envelope(leaf.why, ['source cache_control', asObject]);

export const anthropicMessage: Envelope = envelope('SDKs differ in whether the role or the content comes first', [
  'content',
  { items: anthropicBlock },
]);

const anthropicRoot: Envelope = envelope(
  rootOrder,
  ['messages', { items: anthropicMessage }],
  ['system', { items: anthropicBlock }],
  ['thinking cache_control', asObject],
  ['temperature top_p', float],
);

export const anthropicNames: KnownNames = knownNames(
  'model max_tokens messages system stop_sequences tools tool_choice output_config output_format thinking stream',
  'cache_control inference_geo speed service_tier diagnostics context_management compaction fallbacks billing_policy',
  'temperature top_p top_k metadata mcp_servers container thread fallback_credit_token',
);

export const anthropicSideEffects: readonly SideEffect[] = [
  { kind: 'value', path: ['mcp_servers'], harmless: ['absent', 'null'], why: 'calls servers of third parties' },
  {
    kind: 'value',
    path: ['container'],
    harmless: ['absent', 'null'],
    why: 'runs in a container that outlives the call',
  },
  {
    kind: 'value',
    path: ['thread'],
    harmless: ['absent', 'null'],
    why: 'continues a conversation that the server holds',
  },
  { kind: 'value', path: ['fallback_credit_token'], harmless: ['absent', 'null'], why: 'can be spent once' },
];

/** Every other type is run by the server, or acts on the caller's machine. */
const tools: ToolList = { path: ['tools'], toldBy: 'type', callerRuns: ['custom'], typeless: 'caller_runs' };

/** The profile `anthropic-messages`. */
export const anthropicMessages: Profile = {
  name: 'anthropic-messages',
  sources: [
    'https://docs.anthropic.com/en/api/messages',
    'npm @anthropic-ai/sdk 1.14.0 and 0.137.0, PyPI anthropic 2.14.0',
    'https://github.com/ollama/ollama anthropic/anthropic.go',
  ],
  errorShape: 'anthropic',
  method: 'POST',
  paths: pathPatterns('**/v1/messages'),
  contentType: 'json',
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames: anthropicNames,
  root: anthropicRoot,
  identity: [{ member: 'metadata', why: 'its only member is user_id, which the answer does not echo' }],
  sideEffects: anthropicSideEffects,
  tools: { lists: [tools], choices: [{ path: ['tool_choice', 'type'], off: 'none' }] },
  sampling: {
    temperatures: [['temperature']],
    seeds: [],
    overrides: [{ path: ['thinking'], off: 'disabled', why: 'thinking samples at temperature 1' }],
  },
  usage: {
    answer: { in: 'json', prompt: ['usage', 'input_tokens'], completion: ['usage', 'output_tokens'] },
    // The prompt in message_start, the completion in the last message_delta.
    stream: { in: 'json', prompt: ['message', 'usage', 'input_tokens'], completion: ['usage', 'output_tokens'] },
  },
};

/** The profile `anthropic-count-tokens`. It is judged as the message that it counts. */
export const anthropicCountTokens: Profile = {
  ...anthropicMessages,
  name: 'anthropic-count-tokens',
  sources: ['https://docs.anthropic.com/en/api/messages-count-tokens'],
  paths: pathPatterns('**/v1/messages/count_tokens'),
  stream: { from: 'endpoint', streams: false },
  sampling: 'none',
  usage: noUsage,
};
