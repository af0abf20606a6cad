/** The older completions of a bare prompt, of OpenAI and of compatible servers. */

import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { asObject, envelope, noTools, rootOrder } from '../shared-rules.ts';
import { compatibleSampling, completionUsage, floats, transfers, userIdentity, withVllm } from './members.ts';

/** The profile `openai-completions`. */
export const openaiCompletions: Profile = {
  name: 'openai-completions',
  sources: [
    'https://github.com/openai/openai-openapi (CreateCompletionRequest)',
    'https://github.com/vllm-project/vllm vllm/entrypoints/openai/completion/protocol.py',
  ],
  errorShape: 'openai',
  method: 'POST',
  paths: pathPatterns('**/v1/completions', '**/openai/completions'),
  contentType: 'json',
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames: withVllm(
    'model prompt suffix echo best_of n max_tokens logprobs logit_bias stop stream stream_options temperature top_p',
    'frequency_penalty presence_penalty seed user',
    'response_format random_seed',
  ),
  root: envelope(rootOrder, ['stream_options logit_bias', asObject], floats),
  identity: [userIdentity],
  sideEffects: transfers,
  tools: noTools,
  sampling: compatibleSampling,
  usage: completionUsage,
};
