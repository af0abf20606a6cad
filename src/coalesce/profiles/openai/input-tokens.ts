/** The count of a response's input tokens. It runs and keeps nothing: what it refers to is only read. */

import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { noUsage } from '../shared-rules.ts';
import { responsesNames, responsesRoot, responsesTools } from './responses.ts';

/** The profile `openai-input-tokens`. */
export const openaiInputTokens: Profile = {
  name: 'openai-input-tokens',
  sources: ['https://github.com/openai/openai-openapi (TokenCountsBody)'],
  errorShape: 'openai',
  method: 'POST',
  paths: pathPatterns('**/v1/responses/input_tokens', '**/openai/responses/input_tokens'),
  contentType: 'json',
  model: { from: 'body', member: 'model', whenAbsent: 'unnamed' },
  stream: { from: 'endpoint', streams: false },
  rootNames: responsesNames,
  root: responsesRoot,
  identity: [],
  sideEffects: [],
  tools: responsesTools,
  sampling: 'none',
  usage: noUsage,
};
