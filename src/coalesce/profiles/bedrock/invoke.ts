/**
 * Bedrock's InvokeModel and InvokeModelWithResponseStream, whose body is the model's own. It is read as Anthropic's, which
 * most of them are, with the members by which other families act or sample beside it.
 */

import { anthropicBlock, anthropicMessage, anthropicNames, anthropicSideEffects } from '../anthropic/messages.ts';
import { joinNames, knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { asObject, envelope, float, rootOrder } from '../shared-rules.ts';
import { toolSpecs } from './converse.ts';
import { bedrock, requestMetadataHeader } from './members.ts';

/** The profile `bedrock-invoke`. */
export const bedrockInvoke: Profile = {
  ...bedrock,
  name: 'bedrock-invoke',
  paths: pathPatterns('**/model/{model}/invoke'),
  headers: {
    counted: [{ name: 'accept', why: 'chooses the form of the answer' }],
    identity: [requestMetadataHeader],
  },
  stream: { from: 'endpoint', streams: false },
  rootNames: joinNames(
    anthropicNames,
    knownNames(
      'anthropic_version anthropic_beta',
      'inferenceConfig toolConfig schemaVersion inputText textGenerationConfig',
      'prompt max_gen_len stop message chat_history p k frequency_penalty presence_penalty seed n response_format',
      'reasoning_effort max_completion_tokens',
    ),
  ),
  root: envelope(
    rootOrder,
    ['messages', { items: anthropicMessage }],
    ['system', { items: anthropicBlock }],
    ['thinking cache_control', asObject],
    ['inferenceConfig', { object: envelope(rootOrder, ['temperature topP', float]) }],
    ['temperature top_p p frequency_penalty presence_penalty', float],
  ),
  identity: [],
  sideEffects: anthropicSideEffects,
  tools: {
    lists: [
      { path: ['tools'], toldBy: 'type', callerRuns: ['custom', 'function'], typeless: 'caller_runs' },
      toolSpecs('toolConfig', 'tools'),
    ],
    choices: [{ path: ['tool_choice', 'type'], off: 'none' }],
  },
  sampling: {
    temperatures: [['temperature'], ['inferenceConfig', 'temperature'], ['textGenerationConfig', 'temperature']],
    seeds: [],
    overrides: ['thinking', 'reasoningConfig'].map((member) => ({
      path: [member],
      off: 'disabled',
      why: 'thinking samples at temperature 1',
    })),
  },
  usage: {
    answer: {
      in: 'headers',
      prompt: ['x-amzn-bedrock-input-token-count'],
      completion: ['x-amzn-bedrock-output-token-count'],
    },
    stream: null,
  },
};

/** The profile `bedrock-invoke-stream`. Events hold the model's own chunks in base64; the last one has the counts. */
export const bedrockInvokeStream: Profile = {
  ...bedrockInvoke,
  name: 'bedrock-invoke-stream',
  paths: pathPatterns('**/model/{model}/invoke-with-response-stream'),
  stream: { from: 'endpoint', streams: true },
  usage: {
    answer: null,
    stream: {
      in: 'json',
      prompt: ['amazon-bedrock-invocationMetrics', 'inputTokenCount'],
      completion: ['amazon-bedrock-invocationMetrics', 'outputTokenCount'],
    },
  },
};
