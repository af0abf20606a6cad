/** Bedrock's Converse and ConverseStream: one body, and the path says whether the answer is streamed. */

import { knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Envelope, Profile, ToolList } from '../profile.ts';
import { asObject, envelope, float, leaf, rootOrder } from '../shared-rules.ts';
import { bedrock } from './members.ts';

/** `toolUse.input` and `toolResult` keep their order. */
const block: Envelope = envelope(leaf.why, ['source cache_control', asObject]);

const message: Envelope = envelope('SDKs differ in whether the role or the content comes first', [
  'content',
  { items: block },
]);

const inferenceConfig: Envelope = envelope('the JavaScript SDK and boto3 write its members in different orders', [
  'temperature topP',
  float,
]);

/** A system tool is run by the server. */
export function toolSpecs(...path: readonly string[]): ToolList {
  return { path, toldBy: 'members', callerRuns: ['toolSpec', 'cachePoint'] };
}

const thinks = 'the model thinks, which samples';

/** The profile `bedrock-converse`. */
export const bedrockConverse: Profile = {
  ...bedrock,
  name: 'bedrock-converse',
  paths: pathPatterns('**/model/{model}/converse'),
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames(
    'messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables',
    'additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig',
  ),
  root: envelope(
    rootOrder,
    ['messages', { items: message }],
    ['system', { items: block }],
    ['inferenceConfig', { object: inferenceConfig }],
  ),
  identity: [{ member: 'requestMetadata', why: 'filters the log of calls; no answer depends on it' }],
  // What a model takes beyond Bedrock's own members goes to it as it stands.
  sideEffects: ['mcp_servers', 'container'].map((member) => ({
    kind: 'value',
    path: ['additionalModelRequestFields', member],
    harmless: ['absent', 'null'],
    why: 'calls servers of third parties, or runs in a container that outlives the call',
  })),
  tools: {
    lists: [
      toolSpecs('toolConfig', 'tools'),
      {
        path: ['additionalModelRequestFields', 'tools'],
        toldBy: 'type',
        callerRuns: ['custom', 'function'],
        typeless: 'caller_runs',
      },
    ],
    choices: [],
  },
  sampling: {
    temperatures: [
      ['inferenceConfig', 'temperature'],
      ['additionalModelRequestFields', 'temperature'],
    ],
    seeds: [],
    overrides: ['thinking', 'reasoning_config', 'reasoningConfig'].map((member) => ({
      path: ['additionalModelRequestFields', member],
      off: 'disabled',
      why: thinks,
    })),
  },
  usage: {
    answer: { in: 'json', prompt: ['usage', 'inputTokens'], completion: ['usage', 'outputTokens'] },
    stream: null,
  },
};

/** The profile `bedrock-converse-stream`. The answer is Amazon's binary event stream; its event `metadata` has the usage. */
export const bedrockConverseStream: Profile = {
  ...bedrockConverse,
  name: 'bedrock-converse-stream',
  paths: pathPatterns('**/model/{model}/converse-stream'),
  stream: { from: 'endpoint', streams: true },
  usage: { answer: null, stream: bedrockConverse.usage.answer },
};
