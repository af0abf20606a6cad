/** Mistral's completion of the middle. Its chat and embeddings have OpenAI's paths, and are in those profiles. */

import { knownNames } from '../known-names.ts';
import { completionUsage } from '../openai/members.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { envelope, float, noTools, rootOrder } from '../shared-rules.ts';

/** The profile `mistral-fim`. */
export const mistralFim: Profile = {
  name: 'mistral-fim',
  sources: ['https://docs.mistral.ai/api (fim)', 'npm @mistralai/mistralai 2.7.0'],
  errorShape: 'openai',
  method: 'POST',
  paths: pathPatterns('**/v1/fim/completions'),
  contentType: 'json',
  model: { from: 'body', member: 'model' },
  stream: { from: 'body', member: 'stream', whenAbsent: false },
  rootNames: knownNames(
    'model prompt suffix temperature top_p max_tokens min_tokens stream stop random_seed metadata prompt_cache_key',
  ),
  root: envelope(rootOrder, ['temperature top_p', float]),
  identity: [],
  sideEffects: [],
  tools: noTools,
  sampling: { temperatures: [['temperature']], seeds: [{ path: ['random_seed'], random: [] }], overrides: [] },
  usage: completionUsage,
};
