/** Cohere's chat, version 2. */

import { knownNames } from '../known-names.ts';
import { message } from '../openai/members.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { asObject, envelope, float, rootOrder } from '../shared-rules.ts';

/** The profile `cohere-chat`. */
export const cohereChat: Profile = {
  name: 'cohere-chat',
  sources: ['https://docs.cohere.com/v2/reference/chat', 'npm cohere-ai 8.1.0, PyPI cohere 7.3.1'],
  errorShape: 'plain',
  method: 'POST',
  paths: pathPatterns('**/v2/chat'),
  contentType: 'json',
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames: knownNames(
    'model messages tools strict_tools tool_choice documents citation_options response_format safety_mode max_tokens',
    'stop_sequences logprobs thinking priority stream temperature seed k p frequency_penalty presence_penalty raw_prompting',
  ),
  root: envelope(
    rootOrder,
    ['messages', { items: message }],
    ['thinking', asObject],
    ['temperature p frequency_penalty presence_penalty', float],
  ),
  identity: [],
  sideEffects: [],
  tools: {
    lists: [{ path: ['tools'], toldBy: 'type', callerRuns: ['function'], typeless: 'unknown' }],
    choices: [{ path: ['tool_choice'], off: 'NONE' }],
  },
  sampling: { temperatures: [['temperature']], seeds: [{ path: ['seed'], random: [] }], overrides: [] },
  usage: {
    answer: {
      in: 'json',
      prompt: ['usage', 'tokens', 'input_tokens'],
      completion: ['usage', 'tokens', 'output_tokens'],
    },
    // In message-end.
    stream: {
      in: 'json',
      prompt: ['delta', 'usage', 'tokens', 'input_tokens'],
      completion: ['delta', 'usage', 'tokens', 'output_tokens'],
    },
  },
};
