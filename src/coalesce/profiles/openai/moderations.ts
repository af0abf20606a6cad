/** Moderations. They do not sample and cost nothing. */

import { knownNames } from '../known-names.ts';
import { pathPatterns } from '../path-pattern.ts';
import type { Profile } from '../profile.ts';
import { envelope, noTools, noUsage, rootOrder } from '../shared-rules.ts';
import { part } from './members.ts';

/** The profile `openai-moderations`. */
export const openaiModerations: Profile = {
  name: 'openai-moderations',
  sources: ['https://github.com/openai/openai-openapi (CreateModerationRequest)'],
  errorShape: 'openai',
  method: 'POST',
  paths: pathPatterns('**/v1/moderations'),
  contentType: 'json',
  model: { from: 'body', member: 'model', whenAbsent: 'omni-moderation-latest' },
  stream: { from: 'endpoint', streams: false },
  rootNames: knownNames('input model'),
  root: envelope(rootOrder, ['input', { items: part }]),
  identity: [],
  sideEffects: [],
  tools: noTools,
  sampling: 'none',
  usage: noUsage,
};
